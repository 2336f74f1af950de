// Hands a question of ssh to the console that started it and prints the answer. Ends with 1 when there is none, which ssh takes for a refusal. While a
// hardware key waits to be touched it lives until ssh ends it.
const { connect } = require('node:net');

const path = process.env.QUARTERDECK_ASK;
if (!path) {
  process.stderr.write('askpass: this is run by ssh, for a console that has asked it to.\n');
  process.exit(2);
}
const socket = connect(path);
let answer = '';
socket.setEncoding('utf8');
socket.on('error', () => process.exit(1));
socket.on('data', (text) => {
  answer += text;
});
socket.on('end', () => {
  if (!answer.endsWith('\n')) process.exit(1);
  process.stdout.write(`${JSON.parse(answer)}\n`, () => process.exit(0));
});
socket.write(`${JSON.stringify({ prompt: process.argv[2] ?? '', hint: process.env.SSH_ASKPASS_PROMPT ?? '' })}\n`);
