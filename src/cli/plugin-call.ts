import { dirname, join, resolve } from 'node:path'
import type { AskGateway, CommandCall } from '../api/command.ts'
import type { LoadedConfig } from '../config/index.ts'
import { readText } from '../config/source/read-text.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { readValue } from '../util/plain-data.ts'
import type { SourceFlags } from './load-source.ts'
import { loadSource, getStateDirectory } from './load-source.ts'
import { promptForSchema } from './output/prompt.ts'
import { openBrowser } from './background/run-program.ts'
import { printReport } from './output/report.ts'
import { formatTable, withoutWidth } from './output/table.ts'
import type { Host, Terminal } from './output/terminal.ts'
import type { ControlFlags } from './remote/control-connection.ts'
import { withRunningGateway, withControl } from './remote/control-connection.ts'
import { withGateway, withUnstartedGateway } from './local/gateway-handle.ts'

/** Gateway flags for a plugin command. */
export interface CallFlags extends ControlFlags, SourceFlags {
  readonly json?: boolean | undefined
}

/** Exit code after a second Ctrl-C. */
const INTERRUPTED_EXIT_CODE = 130

/** Creates a plugin command's call object; `options` is the key path of the plugin's options. */
export function createCommandCall(
  input: Pick<CommandCall, 'args' | 'rest' | 'flags'>,
  flags: CallFlags,
  options: readonly string[],
  terminal: Terminal,
  host: Host,
): CommandCall {
  const { cwd, environment, out, err } = terminal
  return {
    ...input,
    ...{ cwd, environment, out, err },
    print: (...printed) => printReport(input.flags, terminal, printed),
    printNext(value, lines) {
      if (flags.json === true) out.line(JSON.stringify(value))
      else for (const line of lines()) out.line(line)
    },
    table: (rows, indent) => formatTable(rows, withoutWidth(out), indent),
    readData: file => readData(resolve(cwd, file)),
    async load() {
      const { config, directory } = await loadSource(flags, terminal)
      return { config, directory, options: readValue(config, ...options) }
    },
    withGateway: (which, use) => withSelectedGateway(which, use, flags, terminal),
    canAsk: host.stdin.isTTY,
    promptForm: async (schema, signal) => (host.stdin.isTTY ? promptForSchema(schema, host, signal) : undefined),
    openBrowser: url => openBrowser(url, getPageDirectory(terminal), environment),
    onInterrupt: stop => onInterrupt(stop, host),
  }
}

/** Redirect page directory, shared by all configurations. */
function getPageDirectory(terminal: Terminal): string | undefined {
  const state = getStateDirectory({ file: 'any' }, terminal)
  return state === undefined ? undefined : join(dirname(state), 'pages')
}

const MAX_BYTES = 8 * 1024 * 1024

async function readData(file: string): Promise<unknown> {
  const contents = readText(file, MAX_BYTES)
  if ('why' in contents) throw gatewayError('GW_USAGE', { what: `cannot read ${file}: ${contents.why}` })
  const { fromYaml } = await import('../config/source/plain-yaml.ts')
  try {
    return fromYaml(contents.text)
  } catch (cause) {
    throw gatewayError('GW_USAGE', { what: `cannot read ${file}: ${getErrorMessage(cause)}`, cause })
  }
}

async function withSelectedGateway<T>(
  which: 'running' | 'one' | 'unstarted' | 'alone' | 'whole',
  use: (ask: AskGateway) => Promise<T>,
  flags: CallFlags,
  terminal: Terminal,
): Promise<T> {
  if (which === 'running' || which === 'one')
    return withControl(flags, terminal, client => use((verb, params) => client.request(verb, params)), which)
  const running = await withRunningGateway(flags, terminal, client =>
    use((verb, params) => client.request(verb, params)),
  )
  if (running !== undefined) return running.value
  const source = await loadSource(flags, terminal)
  const useGateway = (gateway: Pick<Gateway, 'control'>): Promise<T> =>
    use((verb, params) => gateway.control(verb, params))
  if (which === 'unstarted') return withUnstartedGateway(source, terminal, useGateway)
  return withGateway(which === 'whole' ? source : dropUpstreams(source), terminal, useGateway)
}

/** Removes the upstreams, since a plugin query needs none. */
function dropUpstreams(source: LoadedConfig): LoadedConfig {
  return { ...source, config: { ...source.config, upstreams: {}, routes: [] } }
}

function onInterrupt(stop: () => void, host: Host): () => void {
  let isWanted = false
  const listener = (): void => {
    if (isWanted) host.exit(INTERRUPTED_EXIT_CODE)
    isWanted = true
    stop()
  }
  host.on('SIGINT', listener)
  return () => void host.off('SIGINT', listener)
}
