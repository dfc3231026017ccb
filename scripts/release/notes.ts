// Release notes from commit subjects: `feat(cli): add a flag` becomes a row of "Features".
import { execFileSync } from 'node:child_process'

const SECTIONS = [
  ['feat', 'Features'],
  ['fix', 'Fixes'],
  ['perf', 'Performance'],
  ['docs', 'Documentation'],
] as const

const SUBJECT = /^(?<type>[a-z]+)(?:\((?<scope>[^)]+)\))?(?<breaking>!)?: (?<text>.+)$/

/** Formats commit subjects as release notes. Refactorings and tests are omitted. */
export function formatNotes(subjects: readonly string[]): string {
  const commits = subjects.map(subject => SUBJECT.exec(subject)?.groups ?? {})
  const format = ({ scope, text = '' }: Partial<Record<string, string>>): string =>
    `- ${scope === undefined ? '' : `**${scope}**: `}${text}`
  const breaking = commits.filter(commit => commit['breaking'] !== undefined)
  const sections = [
    ['Breaking changes', breaking] as const,
    ...SECTIONS.map(([type, title]) => [title, commits.filter(commit => commit['type'] === type)] as const),
  ]
  const filled = sections.filter(([, rows]) => rows.length > 0)
  return filled.map(([title, rows]) => `## ${title}\n\n${rows.map(format).join('\n')}\n`).join('\n')
}

/** Lists the subjects since the last tag before HEAD, or all. */
export function listSubjects(): string[] {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  let range = 'HEAD'
  try {
    range = `${git('describe', '--tags', '--abbrev=0', 'HEAD^').trim()}..HEAD`
  } catch {
    // The first release.
  }
  return git('log', '--no-merges', '--format=%s', range)
    .split('\n')
    .filter(line => line !== '')
}
