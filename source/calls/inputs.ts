import { fillPlaceholders, placeholdersIn } from '../catalog/placeholders.ts';
import type { ComponentCall } from '../catalog/schema.ts';
import { Fault } from '../faults/fault.ts';
import { parseJson } from '../text/json-value.ts';
import { nameRemedy } from '../text/nearest-name.ts';

/** Inputs of one call, checked against what it declares. */
export class Inputs {
  readonly #call: ComponentCall;
  readonly #values: Readonly<Record<string, string>>;

  private constructor(call: ComponentCall, values: Readonly<Record<string, string>>) {
    this.#call = call;
    this.#values = values;
  }

  /** Throws `usage.input` for what is missing, unknown or of the wrong type. A secret is never part of the message. */
  static async check(call: ComponentCall, values: Readonly<Record<string, string>>): Promise<Inputs> {
    const declared = Object.keys(call.inputs);
    if (declared.length === 0 && Object.keys(values).length === 0) return new Inputs(call, values);
    for (const name of Object.keys(values)) {
      if (!Object.hasOwn(call.inputs, name))
        throw usage(`"${call.title}" has no input "${name}".`, nameRemedy(name, declared, 'Leave it out.'));
    }
    const { checkValue } = await import('../catalog/field-types.ts');
    for (const [name, input] of Object.entries(call.inputs)) {
      const value = values[name];
      if (value === undefined || value === '') {
        if (input.required) throw usage(`"${call.title}" needs ${name}: ${input.meaning}.`, `Provide a value for ${name}.`);
        continue;
      }
      const problem = checkValue(input, value);
      if (problem !== undefined) throw usage(`${name}: ${problem}`, `It is the ${input.meaning}.`);
    }
    return new Inputs(call, values);
  }

  /** Undefined when the text asks for an optional input that was not given. */
  fill(text: string, encode: (value: string) => string = (value) => value): string | undefined {
    if (placeholdersIn(text).some((name) => Object.hasOwn(this.#call.inputs, name) && this.#value(name) === undefined)) return undefined;
    return fillPlaceholders(text, (name) => {
      const value = this.#value(name);
      return value === undefined ? undefined : encode(value);
    });
  }

  /** Name and value of each entry; those that ask for an optional input that was not given are left out. */
  fillRecord(record: Readonly<Record<string, string>>): [string, string][] {
    return Object.entries(record).flatMap(([name, text]): [string, string][] => {
      const filled = this.fill(text);
      return filled === undefined ? [] : [[name, filled]];
    });
  }

  /** JSON with placeholders; one that is the whole text becomes a number, a list and so on, as its type says. */
  fillJson(value: unknown): unknown {
    if (typeof value === 'string') {
      const [only] = placeholdersIn(value);
      if (only !== undefined && value === `<${only}>` && Object.hasOwn(this.#call.inputs, only)) return this.#typed(only);
      return this.fill(value);
    }
    if (Array.isArray(value)) return value.map((item) => this.fillJson(item)).filter((item) => item !== undefined);
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(
        Object.entries(value)
          .map(([key, member]) => [key, this.fillJson(member)])
          .filter(([, member]) => member !== undefined),
      );
    }
    return value;
  }

  /**
   * Arguments of a program. An optional input that was not given takes the option before it along. A value that begins with a dash
   * would be read as an option: throws `usage.input`.
   */
  fillArgv(argv: readonly string[]): string[] {
    const filled: string[] = [];
    for (const argument of argv) {
      const value = this.fill(argument);
      if (value === undefined) {
        if (filled.at(-1)?.startsWith('-')) filled.pop();
        continue;
      }
      if (value.startsWith('-') && !argument.startsWith('-'))
        throw usage('A value for a program may not begin with a dash.', 'Give it without the dash.');
      if (value.includes('\0')) throw usage('A value for a program may not hold a null character.', 'Remove it.');
      filled.push(value);
    }
    return filled;
  }

  isFile(text: string): boolean {
    const [only] = placeholdersIn(text);
    return only !== undefined && (this.#call.inputs[only]?.file ?? false);
  }

  #value(name: string): string | undefined {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    return value === '' ? undefined : value;
  }

  #typed(name: string): unknown {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    switch (this.#call.inputs[name]?.type) {
      case 'integer':
        return Number(value);
      case 'boolean':
        return value === 'true';
      case 'list':
      case 'list of ip-address':
      case 'cidr-list':
        return value.split(',').map((item) => item.trim());
      case 'object':
        return parseJson(value) as unknown;
      default:
        return value;
    }
  }
}

function usage(message: string, remedy: string): Fault {
  return new Fault({ code: 'usage.input', message, remedy });
}
