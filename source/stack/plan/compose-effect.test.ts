import { expect, test } from 'vitest';
import { composeEffect } from './compose-effect.ts';

const words = (line: string) => line.split(' ').filter(Boolean);

test.each(['ps -a', 'logs -f --tail 5 app', '--profile extra ps', '--ansi=never images', 'top', '--version', '-v', '--help down -v'])(
  '%s only reads',
  (line) => {
    expect(composeEffect(words(line))).toMatchObject({ right: 'operate', readsOnly: true });
  },
);

test('config prints secrets, so it needs the right to reveal them, and to write a file is a change', () => {
  expect(composeEffect(['config'])).toMatchObject({ right: 'reveal', readsOnly: true });
  expect(composeEffect(words('config --services'))).toMatchObject({ right: 'reveal', readsOnly: true });
  expect(composeEffect(words('convert -o all.yaml'))).toMatchObject({ right: 'reveal', readsOnly: false });
  expect(composeEffect(words('config --out=all.yaml'))).toMatchObject({ right: 'reveal', readsOnly: false });
});

test.each([
  'up -d',
  'up -d --force-recreate app',
  'stop',
  'exec app rm -rf /data -v',
  'run --rm -v /srv:/srv app down -v',
  'restart app',
  '--profile extra up',
])('%s changes, and removes nothing', (line) => {
  expect(composeEffect(words(line))).toMatchObject({ right: 'operate', readsOnly: false, deletesVolumes: false });
});

test.each([
  'down',
  'rm -f app',
  'kill app',
  '--profile extra down',
  '--version down',
  'up --remove-orphans',
  'up -d --remove',
  'up --scale app=0',
  'scale app=0',
  'wait --down-project app',
  'run --remove-orphans app sh',
  '--unheard-of ps',
  'invented',
  '',
])('"%s" removes, or cannot be told from what does', (line) => {
  expect(composeEffect(words(line))).toMatchObject({ right: 'destroy', readsOnly: false, deletesVolumes: false });
});

test.each([
  'down -v',
  'down -vt 5',
  'down --volumes',
  'down --vol',
  '-p other down -v',
  '-v down -v',
  '--version down --volumes',
  'up -y',
  'up -d --yes',
  'create -y',
  'rm -fsv app',
  'up -dV',
  'up --renew-anon-volumes',
])('%s deletes volumes', (line) => {
  expect(composeEffect(words(line))).toMatchObject({ right: 'destroy', deletesVolumes: true });
});

test.each(['-f other.yaml up', '--file=other.yaml ps', '-p other stop', '--project-directory /srv up', '-H tcp://x ps'])(
  '%s may be about something else',
  (line) => {
    expect(composeEffect(words(line))).toMatchObject({ elsewhere: true });
  },
);
