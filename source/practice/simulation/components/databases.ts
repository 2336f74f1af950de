import { type PracticeService, printed } from '../component.ts';

/** PostgreSQL 16 in its official image, as the database of a component. */
export function postgresService(database: string, rows?: (scenario: string) => string): PracticeService {
  const accepts = '/var/run/postgresql:5432 - accepting connections';
  return {
    log: {
      everyMs: 150_000,
      stderr: true,
      start: [
        '{{dayMs}} UTC [1] LOG:  starting PostgreSQL 16.11 on x86_64-pc-linux-musl, compiled by gcc (Alpine 15.2.0) 15.2.0, 64-bit',
        '{{dayMs}} UTC [1] LOG:  database system is ready to accept connections',
      ],
      entries: [
        [
          '{{dayMs}} UTC [27] LOG:  checkpoint starting: time',
          '{{dayMs}} UTC [27] LOG:  checkpoint complete: wrote {{1..5}} buffers (0.0%); 0 WAL file(s) added, 0 removed, 0 recycled; write=0.{{100..500}} s, sync=0.0{{10..60}} s, total=0.{{500..600}} s; sync files={{5..40}}, longest=0.00{{2..9}} s; distance={{80..900}} kB; lsn=0/{{hex7}}',
        ],
        [
          '{{dayMs}} UTC [{{60..900}}] ERROR:  canceling statement due to user request',
          `{{dayMs}} UTC [{{60..900}}] STATEMENT:  SELECT count(*) FROM ${database}.entries WHERE status='unread'`,
        ],
      ],
    },
    figures: { cpuPercent: [0.6, 0.5], memoryMb: [46, 8] },
    health: { status: 'healthy', output: `${accepts}\n` },
    processes: ['postgres', 'postgres: checkpointer', 'postgres: walwriter', `postgres: ${database} ${database} 172.18.0.3(51024) idle`],
    exec: ([program], scenario) => {
      if (program === 'psql' && rows) return printed(rows(scenario));
      return program === 'pg_isready' ? printed(accepts) : undefined;
    },
    scenarios: {
      // It panics, recovers, and panics again.
      'full-disk': {
        log: {
          everyMs: 2_500,
          stderr: true,
          entries: [
            [
              '{{dayMs}} UTC [412] ERROR:  could not extend file "base/16384/{{16400..17900}}": No space left on device',
              `{{dayMs}} UTC [412] STATEMENT:  INSERT INTO entries (feed_id, title, url, content) VALUES ($1, $2, $3, $4) /* ${database} */`,
            ],
          ],
        },
        health: { status: 'unhealthy', output: 'pg_isready: /var/run/postgresql:5432 - rejecting connections\n' },
        figures: { cpuPercent: [2.5, 2], memoryMb: [52, 4] },
      },
    },
  };
}

export function redisService(): PracticeService {
  return {
    log: {
      everyMs: 60_000,
      start: [
        '1:C {{redis}} * Redis version=7.4.7, bits=64, commit=00000000, modified=0, pid=1, just started',
        '1:M {{redis}} * Ready to accept connections tcp',
      ],
      entries: [['1:M {{redis}} * 1 changes in 60 seconds. Saving...', '1:M {{redis}} * Background saving terminated with success']],
    },
    figures: { cpuPercent: [0.3, 0.15], memoryMb: [9, 1] },
    processes: ['redis-server *:6379'],
  };
}
