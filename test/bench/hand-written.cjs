// The floor that everything is measured against: the least that a Node program can do to show the same. It asks the engine over its
// socket, follows one log, and writes whole frames by hand. No library, no colours, no care: nobody would want to use it.
const net = require('node:net');

const socket = (process.env.DOCKER_HOST ?? '').replace('unix://', '');
const { columns = 80, rows = 24 } = process.stdout;
const listRows = Math.floor(rows / 2) - 2;
const logRows = rows - listRows - 3;
const frameMs = 66;

let containers = [];
let selected = 0;
let filter;
let lines = [];
let total = 0;
let timer;

const cut = (text) => `${text.slice(0, columns - 1)}\x1b[K`;

function draw() {
  clearTimeout(timer);
  timer = undefined;
  const top = Math.max(0, Math.min(selected - listRows + 1, containers.length - listRows));
  const list = Array.from({ length: listRows }, (_, row) => {
    const container = containers[top + row];
    return container
      ? `${top + row === selected ? '>' : ' '} ${container.Names[0].slice(1).padEnd(30)} ${container.State} ${container.Status}`
      : '';
  });
  const shown = lines.slice(-logRows);
  const log = Array.from({ length: logRows }, (_, row) => shown[row] ?? '');
  const head = `${containers.length} containers${filter === undefined ? '' : ` /${filter}`}`;
  process.stdout.write(`\x1b[H${[head, ...list, `--- ${total} lines`, ...log].map(cut).join('\r\n')}`);
}

const drawSoon = () => {
  timer ??= setTimeout(draw, frameMs);
};

function ask(path, onBody) {
  const connection = net.connect(socket, () => connection.write(`GET ${path} HTTP/1.0\r\nHost: engine\r\n\r\n`));
  let head = Buffer.alloc(0);
  connection.on('data', (chunk) => {
    if (!head) return onBody(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const rest = head.subarray(end + 4);
    head = undefined;
    if (rest.length > 0) onBody(rest);
  });
  return connection;
}

/** Frames of eight bytes head and a text; keeps what the screen can show and counts the rest. */
function follow(id) {
  let left = Buffer.alloc(0);
  ask(`/containers/${id}/logs?follow=1&stdout=1&stderr=1&tail=500`, (chunk) => {
    const data = left.length > 0 ? Buffer.concat([left, chunk]) : chunk;
    let at = 0;
    const kept = [];
    while (at + 8 <= data.length) {
      const end = at + 8 + data.readUInt32BE(at + 4);
      if (end > data.length) break;
      total++;
      kept.push(at + 8, end);
      at = end;
    }
    for (let frame = Math.max(0, kept.length - 2 * logRows); frame < kept.length; frame += 2) {
      lines.push(data.toString('utf8', kept[frame], kept[frame + 1] - 1));
    }
    lines = lines.slice(-logRows);
    left = Buffer.from(data.subarray(at));
    drawSoon();
  });
}

process.stdout.write('\x1b[?1049h\x1b[?25l');
draw();

const pieces = [];
ask('/containers/json?all=1', (piece) => pieces.push(piece)).on('end', () => {
  containers = JSON.parse(Buffer.concat(pieces).toString()).sort((one, other) => (one.Names[0] < other.Names[0] ? -1 : 1));
  draw();
  if (containers[0]) follow(containers[0].Id);
});

process.stdin.setRawMode?.(true);
process.stdin.on('data', (data) => {
  for (const key of data.toString()) {
    if (filter !== undefined) filter = key === '\x7f' ? filter.slice(0, -1) : filter + key;
    else if (key === '/') filter = '';
    else if (key === 'j') selected = Math.min(selected + 1, containers.length - 1);
    else if (key === 'k') selected = Math.max(selected - 1, 0);
    else if (key === 'q' || key === '\x03') process.exit(0);
  }
  draw();
});
