import type { Play } from '../part.ts';
import { dayTimeMs, redisTime, toStderr, type Voice } from '../voice.ts';

function postgresLine(at: Date, pid: number, level: string, text: string): string {
  return `${dayTimeMs(at)} UTC [${pid}] ${level}:  ${text}`;
}

/** PostgreSQL 16 in its official image, as the database of a component. */
export function postgresPlay(database: string, { everyMs = 150_000 } = {}): Play {
  const voice: Voice = {
    everyMs,
    begin: (at) => [
      'PostgreSQL Database directory appears to contain a database; Skipping initialization',
      '',
      ...toStderr([
        postgresLine(at, 1, 'LOG', 'starting PostgreSQL 16.11 on x86_64-pc-linux-musl, compiled by gcc (Alpine 15.2.0) 15.2.0, 64-bit'),
        postgresLine(at, 1, 'LOG', 'listening on IPv4 address "0.0.0.0", port 5432'),
        postgresLine(at, 1, 'LOG', 'listening on IPv6 address "::", port 5432'),
        postgresLine(at, 1, 'LOG', 'listening on Unix socket "/var/run/postgresql/.s.PGSQL.5432"'),
        postgresLine(at, 29, 'LOG', `database system was shut down at ${dayTimeMs(new Date(at.getTime() - 4_000)).slice(0, 19)} UTC`),
        postgresLine(at, 1, 'LOG', 'database system is ready to accept connections'),
      ]),
    ],
    happen: (at, random) => {
      const buffers = random.between(1, 5);
      const written = (buffers * 0.1).toFixed(3);
      if (random.chance(0.08)) {
        return toStderr([
          postgresLine(at, random.between(60, 900), 'ERROR', 'canceling statement due to user request'),
          postgresLine(at, random.between(60, 900), 'STATEMENT', `SELECT count(*) FROM ${database}.entries WHERE status='unread'`),
        ]);
      }
      return toStderr([
        // Small ones, so that both lines are of the same moment: a buffer is written every tenth of a second.
        postgresLine(new Date(at.getTime() - Number(written) * 1_000 - 70), 27, 'LOG', 'checkpoint starting: time'),
        postgresLine(
          at,
          27,
          'LOG',
          `checkpoint complete: wrote ${buffers} buffers (${(buffers / 163.84).toFixed(1)}%); 0 WAL file(s) added, 0 removed, 0 recycled; write=${written} s, sync=0.0${random.between(10, 60)} s, total=${(Number(written) + 0.07).toFixed(3)} s; sync files=${random.between(5, 40)}, longest=0.00${random.between(2, 9)} s, average=0.002 s; distance=${random.between(80, 900)} kB, estimate=${random.between(900, 1800)} kB; lsn=0/${random.hex(7).toUpperCase()}, redo lsn=0/${random.hex(7).toUpperCase()}`,
        ),
      ]);
    },
    end: (at) =>
      toStderr([
        postgresLine(at, 1, 'LOG', 'received fast shutdown request'),
        postgresLine(at, 1, 'LOG', 'aborting any active transactions'),
        postgresLine(at, 27, 'LOG', 'shutting down'),
        postgresLine(at, 1, 'LOG', 'database system is shut down'),
      ]),
  };
  return {
    voice,
    figures: { cpuPercent: [0.6, 0.5], memoryMb: [46, 8] },
    healthcheck: ['CMD', 'pg_isready', '-U', database],
    health: { status: 'healthy', output: '/var/run/postgresql:5432 - accepting connections\n' },
    bootMs: 1_500,
    ends: { exitCode: 0, afterMs: 250 },
    processes: [
      'postgres',
      'postgres: checkpointer',
      'postgres: background writer',
      'postgres: walwriter',
      `postgres: ${database} ${database} 172.18.0.3(51024) idle`,
    ],
    exec: (argv) =>
      argv[0] === 'pg_isready' ? { exitCode: 0, stdout: '/var/run/postgresql:5432 - accepting connections\n', stderr: '' } : undefined,
    moods: { 'full-disk': fullDisk(database) },
  };
}

/** What PostgreSQL says when its volume has no room left: it panics, recovers, and panics again. */
function fullDisk(database: string) {
  return {
    voice: {
      everyMs: 2_500,
      happen: (at: Date, random: { between(a: number, b: number): number }) => {
        const pid = random.between(300, 900);
        return toStderr([
          postgresLine(at, pid, 'ERROR', `could not extend file "base/16384/${random.between(16_400, 17_900)}": No space left on device`),
          postgresLine(at, pid, 'HINT', 'Check free disk space.'),
          postgresLine(
            at,
            pid,
            'STATEMENT',
            `INSERT INTO entries (feed_id, title, url, content) VALUES ($1, $2, $3, $4) /* ${database} */`,
          ),
          ...(random.between(0, 3) === 0
            ? [postgresLine(at, 27, 'ERROR', 'could not write to file "pg_wal/xlogtemp.27": No space left on device')]
            : []),
        ]);
      },
    },
    health: { status: 'unhealthy' as const, output: `pg_isready: /var/run/postgresql:5432 - rejecting connections\n` },
    figures: { cpuPercent: [2.5, 2] as const, memoryMb: [52, 4] as const },
  };
}

export function redisPlay(): Play {
  return {
    voice: {
      everyMs: 60_000,
      begin: (at) => [
        `1:C ${redisTime(at)} * oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo`,
        `1:C ${redisTime(at)} * Redis version=7.4.7, bits=64, commit=00000000, modified=0, pid=1, just started`,
        `1:M ${redisTime(at)} * monotonic clock: POSIX clock_gettime`,
        `1:M ${redisTime(at)} * Running mode=standalone, port=6379.`,
        `1:M ${redisTime(at)} * Server initialized`,
        `1:M ${redisTime(at)} * Ready to accept connections tcp`,
      ],
      happen: (at, random) => {
        const pid = random.between(20, 900);
        return [
          `1:M ${redisTime(at)} * 1 changes in 60 seconds. Saving...`,
          `1:M ${redisTime(at)} * Background saving started by pid ${pid}`,
          `${pid}:C ${redisTime(at)} * DB saved on disk`,
          `${pid}:C ${redisTime(at)} * Fork CoW for RDB: current 0 MB, peak 0 MB, average 0 MB`,
          `1:M ${redisTime(at)} * Background saving terminated with success`,
        ];
      },
      end: (at) => [
        `1:signal-handler (${Math.floor(at.getTime() / 1000)}) Received SIGTERM scheduling shutdown...`,
        `1:M ${redisTime(at)} # Redis is now ready to exit, bye bye...`,
      ],
    },
    figures: { cpuPercent: [0.3, 0.15], memoryMb: [9, 1] },
    bootMs: 300,
    ends: { exitCode: 0, afterMs: 120 },
    processes: ['redis-server *:6379'],
  };
}
