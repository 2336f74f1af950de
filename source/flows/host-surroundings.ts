import { cleanLine } from '../text/clean.ts';
import type { FarHost } from './host-book.ts';

/** What a host says about itself beyond its facts. */
export interface Surroundings {
  user: string;
  /** `Debian GNU/Linux 12`, where it says. */
  system: string;
  /** `free` asks for no password; `password` asks for one, or refuses. */
  sudo: 'root' | 'free' | 'password' | 'missing';
  folder: 'there' | 'missing';
  /** May this user write there, or make it? */
  writable: boolean;
  /** Nobody may, because of how it is mounted. */
  readOnly: boolean;
  freeBytes: number | undefined;
}

const limitMs = 20_000;

/** POSIX alone: busybox has no more. The stack's folder is its first argument. */
const script = `printf 'user %s\\n' "$(id -un 2>/dev/null || id -u)"
[ -r /etc/os-release ] && printf 'system %s\\n' "$(. /etc/os-release; printf %s "$PRETTY_NAME")"
if [ "$(id -u)" = 0 ]; then echo 'sudo root'
elif ! command -v sudo >/dev/null 2>&1; then echo 'sudo missing'
elif sudo -n true >/dev/null 2>&1; then echo 'sudo free'
else echo 'sudo password'; fi
f=$1
if [ -d "$f" ]; then echo 'folder there'; else echo 'folder missing'; fi
while ! [ -e "$f" ] && [ "$f" != / ] && [ "$f" != . ]; do f=$(dirname -- "$f"); done
if [ -d "$f" ] && [ -w "$f" ]; then echo 'writable yes'; else echo 'writable no'; fi
# Root may write everywhere else; whoever is not root is told so by the kernel's table, where df names the mount.
m=$(df -P -- "$f" 2>/dev/null | awk 'NR == 2 { print $6 }')
if [ -r /proc/mounts ] && awk -v m="$m" '$2 == m { o = $4 } END { exit o ~ /(^|,)ro(,|$)/ ? 0 : 1 }' /proc/mounts; then echo 'readonly yes'; fi
printf 'free %s\\n' "$(df -Pk -- "$f" 2>/dev/null | awk 'NR == 2 { print $4 }')"
exit 0`;

/** Looks who one is there, what sudo would say, and at the place of the stack. Changes nothing. */
export async function askAround(
  host: FarHost,
  stackFolder: string,
  { uid, signal }: { uid: number | undefined; signal: AbortSignal },
): Promise<Surroundings> {
  const { stdout } = await host.exec(['sh', '-c', script, 'sh', stackFolder], { signal, limitMs });
  const said = new Map(
    new TextDecoder()
      .decode(stdout)
      .split('\n')
      .map((line): [string, string] => {
        const [word = '', ...rest] = line.split(' ');
        return [word, cleanLine(rest.join(' ')).trim()];
      }),
  );
  const sudo = said.get('sudo');
  const free = said.get('free') ?? '';
  return {
    user: said.get('user') ?? '',
    system: said.get('system') ?? '',
    sudo: uid === 0 ? 'root' : sudo === 'free' || sudo === 'missing' ? sudo : 'password',
    folder: said.get('folder') === 'there' ? 'there' : 'missing',
    writable: said.get('writable') === 'yes',
    readOnly: said.get('readonly') === 'yes',
    freeBytes: /^\d+$/.test(free) ? Number(free) * 1024 : undefined,
  };
}
