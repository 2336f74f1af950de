import { fillPlaceholders, placeholdersIn } from '../catalog/placeholders.ts';
import type { ComponentCall } from '../catalog/schema.ts';
import { Fault } from '../faults/fault.ts';
import { parseJson } from '../text/json-value.ts';
import { nameRemedy } from '../text/nearest-name.ts';

export class Inputs {
  private constructor(
    private readonly call: ComponentCall,
    private readonly values: Readonly<Record<string, string>>,
  ) {}

  /** Throws `usage.input` for missing, unknown or invalid inputs. A secret is never part of the message. */
  static async check(call: ComponentCall, values: Readonly<Record<string, string>>): Promise<Inputs> {
    const declared = Object.keys(call.inputs);
    if (declared.length === 0 && Object.keys(values).length === 0) return new Inputs(call, values);
    for (const name of Object.keys(values)) {
      if (!Object.hasOwn(call.inputs, name)) throw usage(`"${call.title}" has no input "${name}".`, nameRemedy(name, declared, 'Omit it.'));
    }
    const { checkValue } = await import('../catalog/field-types.ts');
    for (const [name, input] of Object.entries(call.inputs)) {
      const value = values[name];
      if (value === undefined || value === '') {
        if (input.required) throw usage(`"${call.title}" requires ${name}: ${input.description}.`, `Provide a value for ${name}.`);
        continue;
      }
      if (input.file) continue;
      const problem = checkValue(input, value);
      if (problem !== undefined) throw usage(`${name}: ${problem}`, `Expected: ${input.description}.`);
    }
    return new Inputs(call, values);
  }

  /** Undefined if an optional input was not set. */
  fill(text: string, encode: (value: string) => string = (value) => value): string | undefined {
    if (placeholdersIn(text).some((name) => Object.hasOwn(this.call.inputs, name) && this.#value(name) === undefined)) return undefined;
    return fillPlaceholders(text, (name) => {
      const value = this.#value(name);
      return value === undefined ? undefined : encode(value);
    });
  }

  /** Entries that use an unset optional input are left out. */
  fillRecord(record: Readonly<Record<string, string>>): [string, string][] {
    return Object.entries(record).flatMap(([name, text]): [string, string][] => {
      const filled = this.fill(text);
      return filled === undefined ? [] : [[name, filled]];
    });
  }

  /** Fills JSON with placeholders; one that is the whole text becomes a number, a list and so on, according to its type. */
  fillJson(value: unknown): unknown {
    if (typeof value === 'string') {
      const [only] = placeholdersIn(value);
      if (only !== undefined && value === `<${only}>` && Object.hasOwn(this.call.inputs, only)) return this.#typed(only);
      return this.fill(value);
    }
    if (Array.isArray(value)) return value.map((item) => this.fillJson(item)).filter((item) => item !== undefined);
    if (typeof value !== 'object' || value === null) return value;
    const filled = Object.entries(value).map(([key, member]) => [key, this.fillJson(member)]);
    return Object.fromEntries(filled.filter(([, member]) => member !== undefined));
  }

  /** An unset optional input removes the option before it too. A leading dash would be parsed as an option: throws `usage.input`. */
  fillArgv(argv: readonly string[]): string[] {
    const filled: string[] = [];
    for (const argument of argv) {
      const value = this.fill(argument);
      if (value === undefined) {
        if (filled.at(-1)?.startsWith('-')) filled.pop();
        continue;
      }
      if (value.startsWith('-') && !argument.startsWith('-'))
        throw usage('An argument for a program must not begin with a dash.', 'Remove the dash.');
      if (value.includes('\0')) throw usage('An argument for a program must not contain a NUL character.', 'Remove it.');
      filled.push(value);
    }
    return filled;
  }

  get secrets(): string[] {
    return Object.keys(this.call.inputs).filter((name) => this.call.inputs[name]?.secret && this.#value(name) !== undefined);
  }

  isFile(text: string): boolean {
    const [only] = placeholdersIn(text);
    return only !== undefined && (this.call.inputs[only]?.file ?? false);
  }

  /** Of a text that is one file: its bytes. Undefined if an optional input was not set. */
  fillBytes(text: string): Buffer | undefined {
    const filled = this.fill(text);
    return filled === undefined ? undefined : Buffer.from(filled, this.isFile(text) ? 'latin1' : 'utf8');
  }

  #value(name: string): string | undefined {
    const value = Object.hasOwn(this.values, name) ? this.values[name] : undefined;
    return value === '' ? undefined : value;
  }

  #typed(name: string): unknown {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const type = this.call.inputs[name]?.type;
    if (type === 'integer') return Number(value);
    if (type === 'boolean') return value === 'true';
    if (type === 'object') return parseJson(value);
    return type === 'list' || type === 'list of ip-address' || type === 'cidr-list' ? value.split(',').map((item) => item.trim()) : value;
  }
}

const usage = (message: string, remedy: string): Fault => new Fault('usage.input', message, remedy);
