import type { Exchange, Plugin } from '../../src/plugin.ts'
import { readText } from '../../src/plugin.ts'

const READ = ['resources/read']
const SCHEME = 'ui://'

/**
 * Routes reads of MCP Apps (SEP-1865): a `ui://` resource belongs to the server whose tool names it, in a list or not.
 * If several servers name it, the catalog decides.
 */
export const apps: Plugin<undefined> = {
  name: 'apps',
  setup({ hooks, slot }) {
    const owner = slot.exchange((): { upstream?: string } => ({}))
    hooks.request.tap({ methods: READ }, async exchange => {
      const uri = readUri(exchange)
      if (uri === undefined) return
      const tools = await exchange.listShownEntries('tools')
      const named = tools.filter(({ value }) => readText(value, '_meta', 'ui', 'resourceUri') === uri)
      const [upstream, second] = new Set(named.map(tool => tool.upstream))
      if (upstream === undefined || second !== undefined) return
      const listed = (await exchange.listShownEntries('resources')).find(({ exposed }) => exposed === uri)
      if (listed?.upstream !== upstream) owner.get(exchange).upstream = upstream
    })
    hooks.route.tap({ methods: READ }, exchange => {
      const upstream = readUri(exchange) === undefined ? undefined : owner.get(exchange).upstream
      return upstream === undefined ? undefined : { to: 'one', upstream, params: exchange.params }
    })
  },
}

function readUri({ params }: Exchange): string | undefined {
  const uri = readText(params, 'uri')
  return uri?.startsWith(SCHEME) === true ? uri : undefined
}
