/** A request that the engine refuses: the status and the sentence that Docker answers with. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const noContainer = (name: string) => new Refusal(404, `No such container: ${name}`);
