import { plural } from '../../util/plain-text.ts'
import { formatFindings } from '../output/format-findings.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { InitFlags, InitResult } from './init.ts'
import { init, toRelativePath } from './init.ts'
import { createQuestions } from './questions.ts'

/** Runs `gateway init` and prints the result and next steps. Returns the exit code. */
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
  if (done.declined === true) return ['nothing was written; preview with gateway init --dry-run']
  if (file === undefined) return text.trimEnd().split('\n')
  const config = toRelativePath(cwd, file)
  const names = servers.map(({ name }) => name).join(', ')
  return [
    `${out.paint('green', 'wrote')} ${config}: ${plural(servers.length, 'server')} (${names})`,
    ...formatSecrets(done, out),
    ...(variables.length > 0
      ? [`${out.paint('yellow', 'set')} ${variables.join(', ')} in the environment, then: gateway down; gateway up`]
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
  return [`${out.paint('green', 'moved')} ${count} into secrets/, readable only by you`]
}

function formatStarted({ started }: InitResult, out: Terminal['out']): string[] {
  if (started === undefined) return []
  const { tools, health, starting } = started
  return [
    `${out.paint('green', 'started')} the gateway: ${plural(tools.length, 'tool')}`,
    ...(starting.length > 0
      ? [`${out.paint('yellow', 'starting')} ${starting.join(', ')}: check with gateway status`]
      : []),
    ...formatFindings(health.findings, out),
  ]
}

function formatConnected({ connected, unconnected }: InitResult, { out, cwd }: Terminal): string[] {
  if (unconnected === true) return ['no client was connected; preview with gateway connect --dry-run']
  if (connected.length === 0) return []
  return [
    ...connected.map(
      ({ client, file }) => `${out.paint('green', 'connected')} ${client} (${toRelativePath(cwd, file)})`,
    ),
    out.paint(
      'dim',
      'The clients still have their own entries for these servers: remove them, or each server runs twice.',
    ),
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
