// Checks commit subjects: `type(scope): imperative`, at most 72 characters. `--file <message>` for the commit hook, `--last <n>` for CI.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const FORM =
  /^(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([a-z0-9 ,/-]+\))?!?: ([a-z][a-z-]*) /
const MAX_LENGTH = 72
/** Endings of verbs that are not in the imperative; the words with these endings that are. */
const NOT_IMPERATIVE = /(?:ed|ing|[^s]s)$/
const IMPERATIVE = /^(?:bring|embed|exceed|feed|focus|need|seed|shed|speed|alias)$/

const [mode, value = ''] = process.argv.slice(2)
const subjects =
  mode === '--file'
    ? [readFileSync(value, 'utf8').split('\n')[0] ?? '']
    : execFileSync('git', ['log', '--no-merges', '--format=%s', '-n', value], { encoding: 'utf8' }).trim().split('\n')
const problems = subjects.flatMap(subject => {
  const problem = findProblem(subject)
  return problem === undefined ? [] : [`${problem}: ${subject}`]
})
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1

function findProblem(subject: string): string | undefined {
  if (/^(?:fixup!|squash!|Merge |Revert )/.test(subject)) return undefined
  const verb = FORM.exec(subject)?.[1]
  if (verb === undefined) return 'write the subject as "type(scope): imperative"'
  if (NOT_IMPERATIVE.test(verb) && !IMPERATIVE.test(verb)) return `"${verb}" is not an imperative`
  return subject.length > MAX_LENGTH ? `longer than ${MAX_LENGTH} characters` : undefined
}
