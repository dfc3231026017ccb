export interface Said {
  /** Name of the server. */
  readonly name: string
  readonly pid: number
  readonly cwd: string
  /** The argument that it was given. */
  readonly value: string
}

/** Prints a line, and notes when it is not as it should be. */
export type Check = (isRight: boolean, text: string) => void
