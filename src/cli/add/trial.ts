import type { LoadedConfig } from '../../config/index.ts'
import { withConfig } from '../../config/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { withoutTraces } from '../../gateway/load-config.ts'
import { tokensIn } from '../../util/units.ts'
import { withGateway } from '../local/ask-gateway.ts'
import { listAllTools } from '../local/tools.ts'
import type { Terminal } from '../output/terminal.ts'

/** Sections that a server is started with. */
const OWN: ReadonlySet<string> = new Set(
  'version server log lists shutdown control hooks processes secrets network cache overload'.split(' '),
)

/** Tools of a server that was started once. */
export interface Trial {
  readonly tools: readonly { readonly name: string; readonly tokens: number }[]
  readonly tokens: number
}

/** Starts one upstream of a configuration, alone, and asks for its tools. @throws GatewayError GW_ADD_TRIAL */
export async function trial(
  source: LoadedConfig,
  { name, help }: { readonly name: string; readonly help: string },
  terminal: Terminal,
): Promise<Trial> {
  const { config } = withoutTraces(source)
  const upstream = config.upstreams[name]
  if (upstream === undefined)
    throw gatewayError('GW_ADD_TRIAL', { upstream: name, help, why: 'it is not there' })
  // Rules are not asked, and may speak of other servers: what it offers is what counts.
  const kept = Object.fromEntries(Object.entries(config).filter(([key]) => OWN.has(key))) as typeof config
  const alone = { ...kept, listeners: {}, plugins: {}, upstreams: { [name]: upstream } }
  return withGateway(withConfig(source, alone), terminal, async gateway => {
    const client = await gateway.connect()
    const tools = await listAllTools(client)
    const [status] = (await gateway.inspect()).upstreams
    if (status?.state !== 'ready')
      throw gatewayError('GW_ADD_TRIAL', {
        ...{ upstream: name, help },
        why: status?.problem ?? `it is ${status?.state ?? 'away'}`,
      })
    const sizes = tools.map(tool => ({ name: tool.name, tokens: tokensIn(JSON.stringify(tool)) }))
    return { tools: sizes, tokens: sizes.reduce((sum, { tokens }) => sum + tokens, 0) }
  })
}
