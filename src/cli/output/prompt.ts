import { createInterface } from 'node:readline/promises'
import { gatewayError } from '../../errors/errors.ts'
import type { Terminal } from './terminal.ts'
import type { Host } from '../host.ts'

/** Asks one question, and gives the line that was typed. */
export type Ask = (question: string) => Promise<string>

/** True where somebody sits at a terminal who can be asked. */
export function canAsk({ err }: Pick<Terminal, 'err'>, host: Host): boolean {
  return host.stdin.isTTY && err.width !== undefined
}

/**
 * Asks questions on stderr, whose answers are lines of stdin.
 * @throws GatewayError GW_INTERRUPTED where Ctrl-C or Ctrl-D is the answer
 */
export async function withQuestions<T>(host: Host, use: (ask: Ask) => Promise<T>): Promise<T> {
  const lines = createInterface({ input: host.stdin, output: host.stderr })
  // A line that never comes would be waited for without end.
  const ended = new AbortController()
  lines.once('close', () => ended.abort())
  const ask: Ask = question =>
    lines.question(question, { signal: ended.signal }).catch((cause: unknown) => {
      host.stderr.write('\n')
      throw gatewayError('GW_INTERRUPTED', { cause })
    })
  try {
    return await use(ask)
  } finally {
    lines.close()
  }
}

/** Answer of the owner to a change that is shown; `not asked` where none is to be made. */
export type Consent = 'given' | 'declined' | 'not asked'

interface ConsentFlags {
  readonly yes: boolean
  readonly 'dry-run': boolean
}

/**
 * Asks whether to write what was shown, and says so where that is declined: anything but a yes is a no.
 * @throws GatewayError GW_USAGE where there is nobody to ask, GW_INTERRUPTED
 */
export async function consentTo(
  question: string,
  { yes, 'dry-run': isDry }: ConsentFlags,
  terminal: Terminal,
  host: Host,
): Promise<Consent> {
  if (isDry) return 'not asked'
  if (yes) return 'given'
  if (!canAsk(terminal, host))
    throw gatewayError('GW_USAGE', { what: 'nothing was written: there is nobody to ask here, so say --yes' })
  const answer = await withQuestions(host, ask => ask(`${question} [y/N] `))
  if (/^y(es)?$/i.test(answer.trim())) return 'given'
  terminal.err.line('nothing was written')
  return 'declined'
}
