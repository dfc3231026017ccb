import { FAST_FLAGS } from './fast-flags.gen.ts'
import type { Host } from './host.ts'
import type { Terminal } from './output/terminal.ts'
import { readFlags } from './read-flags.ts'

type Way = () => Promise<number>

/**
 * Runs a command without oclif, which takes longer to load than the gateway. Whatever could be a mistake, a wish for
 * help or anything else than plain flags is undefined here: oclif knows what to say.
 */
export function shortWay(
  [command, ...args]: readonly string[],
  terminal: Terminal,
  host: Host,
): Way | undefined {
  if (command === 'serve') return serving(args, terminal, host)
  if (command === 'validate') return validating(args, terminal)
  return command === 'wrap' ? wrapping(args, terminal, host) : undefined
}

function serving(args: readonly string[], terminal: Terminal, host: Host): Way | undefined {
  const flags = readFlags(args, FAST_FLAGS.serve)
  if (flags === undefined) return undefined
  const { stdio = false, watch = false, fresh = false, 'with-listeners': all = false } = flags
  return async () => {
    const { serve } = await import('./serve/serve.ts')
    return serve({ ...flags, stdio, watch, fresh, 'with-listeners': all }, terminal, host)
  }
}

function validating(args: readonly string[], terminal: Terminal): Way | undefined {
  const flags = readFlags(args, FAST_FLAGS.validate)
  return flags && (async () => (await import('./local/validate.ts')).sayValidation(flags, terminal))
}

function wrapping(args: readonly string[], terminal: Terminal, host: Host): Way | undefined {
  const end = args.indexOf('--')
  const flags = end === -1 ? undefined : readFlags(args.slice(0, end), FAST_FLAGS.wrap)
  // The values that a port may have are for the other way to check.
  if (flags === undefined || flags.http !== undefined) return undefined
  const { name, 'env-var': variables = [] } = flags
  const options = { name, variables, port: undefined, command: args.slice(end + 1), stray: [] }
  return async () => (await import('./serve/wrap.ts')).wrap(options, terminal, host)
}
