// Errors of Python as JavaScript's.

/** A Python exception: its class as `name`, PyTorch's text as `message`, and where in Python it came from. */
export class PythonError extends Error {
  /** The full name of Python's class: "RuntimeError", "torch.OutOfMemoryError". */
  readonly type: string;
  /** Python's traceback. */
  readonly traceback: string;
  /** Python's number of this error, for errors that go back to it. */
  readonly number: number;

  constructor({ type, message, traceback, number }: Failure) {
    super(message);
    this.name = type.slice(type.lastIndexOf(".") + 1);
    this.type = type;
    this.traceback = traceback;
    this.number = number;
  }
}

export interface Failure {
  type: string;
  message: string;
  traceback: string;
  number: number;
}

/** An error of JavaScript's own code on its way through Python, and back. */
export class Thrown {
  readonly #errors = new Map<number, unknown>();
  #next = 1;

  /** What Python is told of an error: its number and text. */
  keep(error: unknown): string {
    const number = this.#next++;
    // Python may have swallowed an old one
    this.#errors.delete(number - 100);
    this.#errors.set(number, error);
    // Python has its own still, unless it is an old one
    if (error instanceof PythonError) return `!${number} python ${error.number}`;
    return `!${number} ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
  }

  take(number: number): unknown {
    const error = this.#errors.get(number);
    this.#errors.delete(number);
    return error;
  }
}
