import { MARK_VARIABLE, marked } from '../processes/environment.ts'

/** What a worker's environment has besides ours: the mark by which it is ended when the gateway has died. */
export function markedFor(
  environment: Readonly<Record<string, string | undefined>>,
  mark: string,
): Record<string, string> {
  return marked({}, environment[MARK_VARIABLE], mark)
}
