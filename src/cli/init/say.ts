import { plural } from '../../util/plain-text.ts'
import { findingLines } from '../output/findings.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { InitFlags, Initiated } from './init.ts'
import { init, toRelativePath } from './init.ts'
import { createQuestions } from './questions.ts'

/** Makes a gateway of what is here, and says what was done and what comes next. Returns the exit code. */
export async function sayInit(
  flags: InitFlags & { readonly json: boolean },
  terminal: Terminal,
  host: Host,
): Promise<number> {
  const questions = flags.yes || flags['dry-run'] ? undefined : createQuestions(terminal, host)
  const { err } = terminal
  const isWatched = err.width !== undefined && !flags.json
  const step = (text: string): void => (isWatched ? err.line(err.paint('dim', text)) : undefined)
  try {
    const done = await init(flags, { terminal, host, questions, step })
    if (flags.json) terminal.out.json(done)
    else for (const line of lines(done, terminal)) terminal.out.line(line)
    return done.problems.length > 0 || done.declined === true || done.unconnected === true ? 1 : 0
  } finally {
    questions?.close()
  }
}

function lines(done: Initiated, terminal: Terminal): string[] {
  const { out, cwd } = terminal
  const { file, servers, variables, notes, text } = done
  if (done.declined === true) return ['nothing was written; gateway init --dry-run shows what it would write']
  if (file === undefined) return text.trimEnd().split('\n')
  const config = toRelativePath(cwd, file)
  const names = servers.map(({ name }) => name).join(', ')
  return [
    `${out.paint('green', 'wrote')} ${config}: ${plural(servers.length, 'server')} (${names})`,
    ...secretLines(done, out),
    ...(variables.length > 0
      ? [
          `${out.paint('yellow', 'set')} ${variables.join(', ')} in the environment, then: gateway down; gateway up`,
        ]
      : []),
    ...notes.map(note => `${out.paint('yellow', 'note')} ${note}`),
    ...startedLines(done, out),
    ...connectedLines(done, terminal),
    ...done.problems.map(problem => `${out.paint('red', 'problem')} ${problem}`),
    '',
    ...nextLines(done, config, out),
  ]
}

function secretLines({ secrets }: Initiated, out: Terminal['out']): string[] {
  if (secrets.length === 0) return []
  const count = plural(secrets.length, 'secret')
  return [`${out.paint('green', 'moved')} ${count} into secrets/, which only you can read`]
}

function startedLines({ started }: Initiated, out: Terminal['out']): string[] {
  if (started === undefined) return []
  const { tools, health, starting } = started
  return [
    `${out.paint('green', 'started')} the gateway: ${plural(tools.length, 'tool')}`,
    ...(starting.length > 0
      ? [
          `${out.paint('yellow', 'starting')} ${starting.join(', ')}: their tools come later, gateway status shows when`,
        ]
      : []),
    ...findingLines(health.findings, out),
  ]
}

function connectedLines({ connected, unconnected }: Initiated, { out, cwd }: Terminal): string[] {
  if (unconnected === true)
    return ['no client was connected; gateway connect --dry-run shows what it would write']
  if (connected.length === 0) return []
  return [
    ...connected.map(
      ({ client, file }) => `${out.paint('green', 'connected')} ${client} (${toRelativePath(cwd, file)})`,
    ),
    out.paint('dim', 'Their own entries of these servers are still there: remove them, or each runs twice.'),
  ]
}

function nextLines({ started }: Initiated, config: string, out: Terminal['out']): string[] {
  return [
    out.paint('dim', 'Next:'),
    ...(started === undefined ? [`  gateway up -c ${config}`] : []),
    `  gateway tools -c ${config}`,
    `  gateway status -c ${config}`,
    `  gateway doctor -c ${config}`,
  ]
}
