import { readInstalled } from '../config/installation.ts';
import { wrap } from '../text/width.ts';

/** Topics of `quarterdeck help TOPIC`, each a file in docs/help. Some are also commands: their help comes first. */
export const topics = 'environment exit-codes configuration keys json hosts secrets practice catalog flows'.split(' ');

/** Reads a file of docs/help. Throws `failed.installation`. */
export const readHelp = (name: string): Promise<string> => readInstalled(`docs/help/${name}`);

/** Returns the text of a topic without its Markdown: paragraphs wrapped, code indented. */
export async function topicText(topic: string, columns: number): Promise<string> {
  let code = false;
  const lines = (await readHelp(`${topic}.md`)).split('\n').flatMap((line) => {
    if (line.startsWith('```')) code = !code;
    if (/^(?:```|<!--)/.test(line)) return [];
    return code ? [`  ${line}`.trimEnd()] : wrap(line.replace(/^#+ /, '').replaceAll('`', ''), columns);
  });
  return lines.join('\n').trimEnd();
}
