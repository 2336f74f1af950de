// The least that a program with Ink can do to show the same as the floor: the containers that the engine names, a row each. Built as the console is, so that
// what it takes is what Ink, React and Yoga take, whoever uses them.
import { connect } from 'node:net';

// What was compiled is kept when it ends.
process.once('SIGTERM', () => process.exit());

const pieces: Buffer[] = [];
const connection = connect((process.env.DOCKER_HOST ?? '').replace('unix://', ''), () =>
  connection.write('GET /containers/json?all=1 HTTP/1.0\r\nHost: engine\r\n\r\n'),
);
const answered = new Promise<string[]>((resolve) => {
  connection.on('data', (piece) => pieces.push(piece));
  connection.on('end', () => {
    const answer = Buffer.concat(pieces).toString();
    const containers = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as { Names: string[]; State: string; Status: string }[];
    resolve(containers.map(({ Names, State, Status }) => `${Names[0]?.slice(1).padEnd(30)} ${State} ${Status}`).sort());
  });
});

const { columns = 80, rows = 24 } = process.stdout;
// Loaded while the engine answers.
void import('./least-ink-screen.tsx').then(async ({ showRows }) => showRows((await answered).slice(0, rows - 2), columns, rows));
