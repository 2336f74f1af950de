import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSecretName, maskAddresses, maskInspect } from './mask-inspect.ts';

const open = { everyVariable: false, secretFields: new Set<string>() };

describe('secrets in what an inspect answers (R2)', () => {
  test('values of variables named like secrets are hidden, others stay', () => {
    const masked = maskInspect({ Config: { Env: ['POSTGRES_PASSWORD=hunter2', 'API_KEY=k', 'TZ=UTC', 'EMPTY=', 'odd'] } }, open);
    expect(masked).toEqual({ Config: { Env: ['POSTGRES_PASSWORD=********', 'API_KEY=********', 'TZ=UTC', 'EMPTY=', 'odd'] } });
  });

  test('the catalog’s secret fields are hidden whatever their name', () => {
    expect(maskInspect({ Env: ['JICOFO=x'] }, { ...open, secretFields: new Set(['JICOFO']) })).toEqual({ Env: ['JICOFO=********'] });
  });

  test('a read-only session hides every value (R32)', () => {
    expect(maskInspect({ Env: ['TZ=UTC'] }, { ...open, everyVariable: true })).toEqual({ Env: ['TZ=********'] });
  });

  test('so are passwords in addresses, in labels, and in the words of a command', () => {
    const masked = maskInspect(
      {
        Config: {
          Env: ['URL=redis://:sesame@cache:6379/0', 'DB=postgres://u:sesame@db/x'],
          Labels: { 'traefik.auth.password': 'sesame', 'org.opencontainers.image.authors': 'me', note: 'see https://u:sesame@x.lan' },
          Cmd: ['redis-server', '--requirepass', 'sesame', '--token=sesame', 'DB_PASSWORD=sesame', '--port', '6379'],
        },
      },
      open,
    );
    expect(JSON.stringify(masked)).not.toContain('sesame');
    expect(JSON.stringify(masked)).toContain('"authors":"me"'.replace('authors', 'org.opencontainers.image.authors'));
    expect(JSON.stringify(masked)).toContain('"--port","6379"');
  });

  test('so is what a command line or a health check repeats of them, also inside a line for the shell', () => {
    const masked = maskInspect(
      {
        Path: 'mariadbd',
        Args: ['--init', 'x sesame1 y'],
        Config: {
          Env: ['MARIADB_ROOT_PASSWORD=sesame1', 'TZ=Europe/Vienna'],
          Healthcheck: { Test: ['CMD-SHELL', 'mysqladmin ping -psesame1 && redis-cli --pass sesame2 ping && curl -f http://a:sesame3@b/'] },
        },
        State: { Health: { Log: [{ ExitCode: 1, Output: 'denied for root:sesame1 in Europe/Vienna' }] } },
      },
      open,
    );
    expect(JSON.stringify(masked)).not.toMatch(/sesame\d/);
    expect(masked).toMatchObject({
      Args: ['--init', 'x ******** y'],
      Config: {
        Healthcheck: {
          Test: ['CMD-SHELL', 'mysqladmin ping -p******** && redis-cli --pass ******** ping && curl -f http://a:********@b/'],
        },
      },
      State: { Health: { Log: [{ Output: 'denied for root:******** in Europe/Vienna' }] } },
    });
  });

  test('so are the password of curl, and headers that authenticate, in a line for the shell and as words', () => {
    const masked = maskInspect(
      {
        Healthcheck: {
          Test: ['CMD-SHELL', `curl -fu ada:sesame http://x -H "Authorization: Bearer sesame" -H 'X-Api-Key: sesame' || exit 1`],
        },
        Cmd: [
          'curl',
          '--user',
          'ada:sesame',
          '--user=ada:sesame',
          '-uada:sesame',
          '-H',
          'Authorization: Basic sesame',
          '--user',
          '1000:1000',
        ],
      },
      open,
    );
    expect(JSON.stringify(masked)).not.toContain('sesame');
    for (const shown of ['ada:********', '1000:1000', 'http://x', 'Bearer ********', '|| exit 1'])
      expect(JSON.stringify(masked)).toContain(shown);
  });

  test('a read-only session sees no argument and no output of a health check, as it sees no variable (R32)', () => {
    const masked = maskInspect(
      {
        Path: 'app',
        Args: ['-k', 'sesame'],
        Config: { Cmd: ['app', '-k', 'sesame'], Entrypoint: ['/init'], Healthcheck: { Test: ['CMD-SHELL', 'check sesame'] } },
        State: { Health: { Log: [{ ExitCode: 1, Output: 'sesame' }] } },
      },
      { ...open, everyVariable: true },
    );
    expect(masked).toEqual({
      Path: 'app',
      Args: ['********', '********'],
      Config: { Cmd: ['********', '********', '********'], Entrypoint: ['/init'], Healthcheck: { Test: ['CMD-SHELL', '********'] } },
      State: { Health: { Log: [{ ExitCode: 1, Output: '********' }] } },
    });
  });

  test.each([
    'PASSWORD',
    'DB_PASS',
    'SECRET_KEY',
    'jwt_token',
    'ADMIN_PW',
    'API-KEY',
    'apiKey',
    'AWS_SECRET_ACCESS_KEY',
    'PGPASSWORD',
    'SESSION_SALT',
    'SMTP_AUTH',
    'PIN',
    'Authorization',
    'sentry.dsn',
  ])('%s is a secret', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  test.each(['PATH', 'TZ', 'HOSTNAME', 'AUTHOR', 'KEYBOARD', 'MONKEY', 'PUID', 'POSTGRES_PASSWORD_FILE', 'AUTHELIA_LOG', 'SHIPPING'])(
    '%s is none',
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  test('nothing else changes: same shape, same keys, same values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const clean = JSON.parse(JSON.stringify(value).replaceAll('://', ':')) as unknown;
        const shape = (any: unknown): unknown =>
          Array.isArray(any)
            ? any.map(shape)
            : typeof any === 'object' && any !== null
              ? Object.fromEntries(Object.entries(any).map(([key, inner]) => [key, shape(inner)]))
              : typeof any;
        expect(shape(maskInspect(clean, open))).toEqual(shape(clean));
      }),
    );
  });

  test('a password in an address never survives', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9!$%^&*()_+=-]{6,20}$/);
    fc.assert(
      fc.property(word, fc.constantFrom('postgres', 'redis', 'https', 'amqp'), (password, scheme) => {
        expect(maskAddresses(`${scheme}://user:${password}@host/db`)).toBe(`${scheme}://user:********@host/db`);
      }),
    );
  });
});
