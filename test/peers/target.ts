/** Address for a client: an HTTP endpoint, or a program it starts and speaks to over pipes. */
export type Target = { url: string } | ProgramTarget

/** A program with what it needs to start; `env` is added to the SDK's short list of inherited names. */
export interface ProgramTarget {
  command: string
  args?: string[]
  env?: Record<string, string>
  cwd?: string
  stderr?: 'inherit' | 'ignore'
}
