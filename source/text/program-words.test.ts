import { expect, test } from 'vitest';
import { plainWords } from './program-words.ts';

const id = '30a2efd889277a400dc84e88955d6f786da4d621b90df85da8de590a8ce61147';

test('an id is cut to its first twelve digits, where it does not pin an image', () => {
  expect(plainWords(`endpoint web_1 (${id}): Bind for 0.0.0.0:80 failed`)).toBe(
    'endpoint web_1 (30a2efd88927): Bind for 0.0.0.0:80 failed',
  );
  expect(plainWords(`image sha256:${id} is in use`)).toBe('image sha256:30a2efd88927 is in use');
  expect(plainWords(`busybox@sha256:${id}`)).toBe(`busybox@sha256:${id}`);
  expect(plainWords(`a${id}`)).toBe(`a${id}`);
});

/** docker-compose 1.29.2 without an engine, shortened. */
const unreachable = `Creating network "p_default" with the default driver
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/urllib3/connectionpool.py", line 703, in urlopen
    httplib_response = self._make_request(
                       ^^^^^^^^^^^^^^^^^^^
FileNotFoundError: [Errno 2] No such file or directory

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/docker/api/client.py", line 214, in _retrieve_server_version
    return self.version(api_version=False)["ApiVersion"]
urllib3.exceptions.ProtocolError: ('Connection aborted.', FileNotFoundError(2, 'No such file or directory'))

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/usr/bin/docker-compose", line 33, in <module>
    sys.exit(load_entry_point('docker-compose==1.29.2', 'console_scripts', 'docker-compose')())
docker.errors.DockerException: Error while fetching server API version: ('Connection aborted.', FileNotFoundError(2, 'No such file or directory'))
[1234] Failed to execute script docker-compose
after`;

test('of a Python traceback the last reason is left', () => {
  expect(plainWords(unreachable)).toBe(
    `Creating network "p_default" with the default driver
Error while fetching server API version: ('Connection aborted.', No such file or directory)
after`,
  );
});

test('a reason of several lines is left whole', () => {
  const yaml = `Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nyaml.parser.ParserError: while parsing a flow sequence\n  in "./bad.yml", line 4, column 12\nexpected ',' or ']'`;
  expect(plainWords(yaml)).toBe(`while parsing a flow sequence\n  in "./bad.yml", line 4, column 12\nexpected ',' or ']'`);
  expect(
    plainWords('Traceback (most recent call last):\n  File "x.py", line 1\nFileNotFoundError: [Errno 2] No such file or directory: \'x\''),
  ).toBe("No such file or directory: 'x'");
});

test('one that is not complete yet shows nothing that goes later', () => {
  const lines = unreachable.split('\n');
  let shown: string[] = [];
  for (const count of [1, 2, 4, 5]) {
    const now = plainWords(lines.slice(0, count).join('\n')).split('\n');
    expect(now.slice(0, shown.length)).toEqual(shown);
    shown = now;
  }
  expect(shown).toEqual([lines[0]]);
});

test('what is none is left alone', () => {
  for (const text of ['', 'plain\n', 'a: b\n\n  indented\n', 'Error: no such image']) expect(plainWords(text)).toBe(text);
});
