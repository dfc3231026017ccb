import { createInterface } from 'node:readline/promises'
import { gatewayError } from '../../errors/errors.ts'
import type { Terminal } from './terminal.ts'

/** Asks one question, and gives the line that was typed. */
export type Ask = (question: string) => Promise<string>

/** True where somebody sits at a terminal who can be asked. */
export function canAsk({ err }: Pick<Terminal, 'err'>, host: NodeJS.Process): boolean {
  return host.stdin.isTTY && err.width !== undefined
}

/**
 * Asks questions on stderr, whose answers are lines of stdin.
 * @throws GatewayError GW_INTERRUPTED where Ctrl-C or Ctrl-D is the answer
 */
export async function withQuestions<T>(host: NodeJS.Process, use: (ask: Ask) => Promise<T>): Promise<T> {
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

/** Asks whether to go on; anything but a yes is a no. */
export async function isAgreedTo(question: string, host: NodeJS.Process): Promise<boolean> {
  return withQuestions(host, async ask => /^y(es)?$/i.test((await ask(`${question} [y/N] `)).trim()))
}
