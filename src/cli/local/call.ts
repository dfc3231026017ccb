import { type Inspection, RpcFailure, type UpstreamStatus } from '../../api/gateway.ts'
import type { DescribedConfig } from '../../config/index.ts'
import { type GatewayError, gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { textAt } from '../../util/plain.ts'
import { suggest } from '../../util/suggest.ts'
import type { Terminal } from '../output/terminal.ts'
import { type AskFlags, withAsked } from './ask-gateway.ts'
import { type GivenArguments, argumentsFor } from './call-arguments.ts'
import { listAllTools } from './list-all.ts'

/** Calls a tool by the same pipeline as any client and gives back the raw result. */
export async function callTool(
  flags: AskFlags,
  name: string,
  given: GivenArguments,
  terminal: Terminal,
): Promise<JsonObject> {
  return withAsked(flags, terminal, async gateway => {
    const tools = await listAllTools(gateway)
    const tool = tools.find(entry => entry.name === name)
    try {
      // A name that is not listed may still be one that `routes` sends somewhere.
      return await gateway.request('tools/call', {
        name,
        arguments: argumentsFor(given, tool?.inputSchema),
      })
    } catch (error) {
      if (tool !== undefined || !(error instanceof RpcFailure)) throw error
      const owner = missingOwner(name, await gateway.inspect())
      if (owner === undefined && error.message !== `Unknown tool: ${name}`) throw error
      const known = tools.map(entry => entry.name)
      throw noSuchTool(name, known, owner)
    }
  })
}

// The prefix tells whose tool it would have been.
function missingOwner(
  name: string,
  { config, upstreams }: Inspection & DescribedConfig,
): UpstreamStatus | undefined {
  return upstreams.find(({ name: upstream, state }) => {
    const prefix = textAt(config, 'upstreams', upstream, 'prefix') ?? `${upstream}__`
    return state !== 'ready' && name.startsWith(prefix)
  })
}

function noSuchTool(tool: string, known: readonly string[], owner: UpstreamStatus | undefined): GatewayError {
  if (owner !== undefined) {
    return gatewayError('GW_UPSTREAM_START', {
      upstream: owner.name,
      why: owner.problem ?? `it is ${owner.state}`,
    })
  }
  const found = suggest(tool, known)
  return gatewayError('GW_TOOL_UNKNOWN', {
    tool,
    meant: found === undefined ? '' : ` – did you mean "${found}"?`,
  })
}
