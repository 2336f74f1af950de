import { Fault } from '../faults/fault.ts';
import { parseDestination } from '../hosts/ssh/destination.ts';
import { changedKey, forgetKey } from '../hosts/ssh/host-keys.ts';
import { cleanLine } from '../text/clean.ts';
import { hostsTrustAbout } from './about-hosts.ts';
import type { Flow } from './flow.ts';
import { bookOf, chooseHost } from './host-choice.ts';
import { lookAtHost } from './host-look.ts';

export const hostsTrust: Flow = {
  ...hostsTrustAbout,
  async run(session, input, world) {
    const book = bookOf(world);
    const [name, settings] = await chooseHost(session, input, await book.list());
    const { program, env } = book;
    session.progress({ id: 'key', label: `Looking which key ${name} shows` });
    const changed = await changedKey(name, parseDestination(settings.ssh), { program, env }, session.signal);
    session.progress({ id: 'key', label: '', done: true });
    if (!changed) return { message: `${name} shows no key that differs from a known one: there is nothing to forget.`, data: { name } };
    const file = cleanLine(changed.file);
    session.show({
      kind: 'table',
      title: `Host key of ${name} (${cleanLine(changed.name)})`,
      columns: ['', 'key'],
      rows: [...(changed.known.length > 0 ? changed.known : ['not readable']).map((key) => ['known', key]), ['shown now', changed.shown]],
    });
    if (!session.rehearsing) {
      if (!session.attended) {
        throw new Fault({
          code: 'refused.notConfirmed',
          message: `Nobody is there to compare the new key of ${name}: ${changed.shown}.`,
          remedy: `Run it in a terminal: quarterdeck hosts trust ${name}`,
        });
      }
      await session.ask
        .text({
          id: 'trust',
          label: `Type ${name} to forget the old key`,
          help: `Only when the key that is shown now is the machine's own: on its console, ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub. Otherwise somebody may stand in between. Empty walks away.`,
          check: (text) => (text.trim() === name || text === '' ? undefined : `That is not "${name}".`),
        })
        .then((typed) => {
          if (typed.trim() === name) return;
          throw new Fault({
            code: 'interrupted.cancelled',
            message: 'Cancelled: the old key is still the known one.',
            remedy: 'Run it again once you have compared the keys.',
          });
        });
    }
    // The name was typed: that is more than a yes.
    await session.act({
      id: 'forget',
      right: 'operate',
      request: `ssh-keygen -R ${cleanLine(changed.name)} -f ${file}; was ${changed.known.join(', ') || 'not readable'}, now ${changed.shown}`,
      target: { host: name },
      run: (grant) => forgetKey(grant, changed, env),
    });
    if (session.rehearsing) return { message: 'Rehearsed: no key was forgotten.' };
    const { report, exitCode } = await lookAtHost(session, book, name, settings);
    return {
      message:
        exitCode === 0
          ? `The old key of ${name} is forgotten; it is in ${file}.old.`
          : `The old key of ${name} is forgotten (it is in ${file}.old), and not all is well there.`,
      data: { name, file: changed.file, known: changed.known, shown: changed.shown, report },
      exitCode,
    };
  },
};
