import { plural } from '../../util/plain-text.ts'
import { formatFindings } from '../output/findings.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { InitFlags, InitResult } from './init.ts'
import { init, toRelativePath } from './init.ts'
import { createQuestions } from './questions.ts'

/** Makes a gateway of what is here, and says what was done and what comes next. Returns the exit code. */
export async function runInit(
  flags: InitFlags & { readonly json: boolean },
  terminal: Terminal,
  host: Host,
): Promise<number> {
  const questions = flags.yes || flags['dry-run'] ? undefined : createQuestions(terminal, host)
  const { err } = terminal
  const isWatched = err.width !== undefined && !flags.json
  const printStep = (text: string): void => (isWatched ? err.line(err.paint('dim', text)) : undefined)
  try {
    const done = await init(flags, { terminal, host, questions, step: printStep })
    if (flags.json) terminal.out.json(done)
    else for (const line of formatInit(done, terminal)) terminal.out.line(line)
    return done.problems.length > 0 || done.declined === true || done.unconnected === true ? 1 : 0
  } finally {
    questions?.close()
  }
}

function formatInit(done: InitResult, terminal: Terminal): string[] {
  const { out, cwd } = terminal
  const { file, servers, variables, notes, text } = done
  if (done.declined === true) return ['nothing was written; gateway init --dry-run shows what it would write']
  if (file === undefined) return text.trimEnd().split('\n')
  const config = toRelativePath(cwd, file)
  const names = servers.map(({ name }) => name).join(', ')
  return [
    `${out.paint('green', 'wrote')} ${config}: ${plural(servers.length, 'server')} (${names})`,
    ...formatSecrets(done, out),
    ...(variables.length > 0
      ? [
          `${out.paint('yellow', 'set')} ${variables.join(', ')} in the environment, then: gateway down; gateway up`,
        ]
      : []),
    ...notes.map(note => `${out.paint('yellow', 'note')} ${note}`),
    ...formatStarted(done, out),
    ...formatConnected(done, terminal),
    ...done.problems.map(problem => `${out.paint('red', 'problem')} ${problem}`),
    '',
    ...formatNextSteps(done, config, out),
  ]
}

function formatSecrets({ secrets }: InitResult, out: Terminal['out']): string[] {
  if (secrets.length === 0) return []
  const count = plural(secrets.length, 'secret')
  return [`${out.paint('green', 'moved')} ${count} into secrets/, which only you can read`]
}

function formatStarted({ started }: InitResult, out: Terminal['out']): string[] {
  if (started === undefined) return []
  const { tools, health, starting } = started
  return [
    `${out.paint('green', 'started')} the gateway: ${plural(tools.length, 'tool')}`,
    ...(starting.length > 0
      ? [
          `${out.paint('yellow', 'starting')} ${starting.join(', ')}: their tools come later, gateway status shows when`,
        ]
      : []),
    ...formatFindings(health.findings, out),
  ]
}

function formatConnected({ connected, unconnected }: InitResult, { out, cwd }: Terminal): string[] {
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

function formatNextSteps({ started }: InitResult, config: string, out: Terminal['out']): string[] {
  return [
    out.paint('dim', 'Next:'),
    ...(started === undefined ? [`  gateway up -c ${config}`] : []),
    `  gateway tools -c ${config}`,
    `  gateway status -c ${config}`,
    `  gateway doctor -c ${config}`,
  ]
}
