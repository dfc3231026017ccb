import type { ErrorEntry } from './table.ts'

/** Exit codes of commands, each with one meaning. */
export const EXIT_CODES: Readonly<Record<number, string>> = {
  0: 'success',
  1: 'unexpected error, such as a bug',
  2: 'wrong usage',
  3: 'invalid configuration',
  4: 'not available: a server, the gateway, an address or a file',
  5: 'not found: a tool, server, caller, profile, verb, agent or request',
  6: 'findings or differences, or refused by a rule',
  7: 'login needed or failed',
  8: 'the tool, or its server, returned an error',
  9: 'declined, interrupted at a prompt, or incomplete',
  10: 'temporary failure: retry later',
  130: 'interrupted (Ctrl-C)',
  143: 'terminated (SIGTERM)',
}

/** Exit code if a person declined, or only a part was done. */
export const INCOMPLETE_EXIT_CODE = 9
/** Exit code for findings and differences. */
export const FINDINGS_EXIT_CODE = 6

/** Exit codes of errors without one, by HTTP status. */
const HTTP_EXIT_CODES: Readonly<Record<number, number>> = {
  400: 2,
  401: 7,
  403: 6,
  404: 5,
  409: 6,
  413: 6,
  429: 10,
  502: 4,
  503: 10,
  504: 10,
}

/** Returns an error's process exit code. */
export function getExitCode({ exit, http }: Pick<ErrorEntry, 'exit' | 'http'>): number {
  return exit ?? HTTP_EXIT_CODES[http ?? 0] ?? 1
}
