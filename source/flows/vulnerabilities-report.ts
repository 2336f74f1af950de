import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { reportMarkdown } from '../products/vulnerabilities/report-markdown.ts';
import { cleanLine, jsonText } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import { vulnerabilitiesReportAbout } from './about-vulnerabilities.ts';
import type { Flow, FlowInput } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { componentsBySubject, nothingKnown, triageBookOf } from './triage-choice.ts';
import { jsonOf } from './vulnerabilities-list.ts';

const limitMs = 60_000;

export const vulnerabilitiesReport: Flow = {
  ...vulnerabilitiesReportAbout,
  async run(session, input, world) {
    const format = formatOf(input);
    const nowMs = Date.now();
    const { all, scans } = await triageBookOf(world).read(nowMs);
    if (Object.keys(scans).length === 0) throw nothingKnown();
    const componentOf = componentsBySubject(world.catalog);
    const json = {
      schema: 1,
      at: new Date(nowMs).toISOString(),
      scans,
      vulnerabilities: all.map((one) => jsonOf(one, componentOf(one.subject))),
    };
    const text = format === 'json' ? `${jsonText(json, 2)}\n` : reportMarkdown(all, scans, { nowMs, componentOf });
    const [word] = input.words;
    if (word === undefined) {
      session.show({ kind: 'text', text: text.trimEnd() });
      return { message: '', data: json };
    }
    const path = resolve(expandHome(word, homedir()));
    const shown = cleanLine(path);
    const facts = await localFiles.facts(path, session.signal);
    if (facts && facts.kind !== 'file')
      throw new Fault({
        code: 'usage.path',
        message: `${shown} is ${facts.kind === 'folder' ? 'a folder' : 'not a plain file'}.`,
        remedy: 'Name a file in it.',
      });
    const content = Buffer.from(text);
    const written = await session.act({
      id: 'report',
      right: facts ? 'destroy' : 'operate',
      ...(facts && { title: `Replace ${shown}`, consequences: [`What is in it now is lost: ${bytesText(facts.sizeBytes)}.`] }),
      request: `write ${shown}: ${bytesText(content.length)}`,
      target: { host: input.place },
      limitMs,
      run: async (grant) => {
        // Says where somebody can break in.
        await localFiles.write(grant, path, content, { mode: 0o600 });
        return true;
      },
    });
    return { message: written ? `The report is in ${shown}.` : 'Rehearsed: nothing was written.', data: { file: path, format } };
  },
};

function formatOf({ words, options }: FlowInput): 'markdown' | 'json' {
  const [word] = wordsUpTo(1, { words }, { takes: 'It is written to one file', remedy: 'Name one file.' });
  const written = options['format'];
  if (written === undefined) return word !== undefined && /\.json$/i.test(word) ? 'json' : 'markdown';
  if (written === 'markdown' || written === 'json') return written;
  throw new Fault({ code: 'usage.format', message: `"${cleanLine(String(written))}" is no format.`, remedy: 'Use markdown or json.' });
}
