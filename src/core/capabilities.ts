import type { Session } from '../api/index.ts'
import { passedExtensions } from '../protocol/era/extensions.ts'
import { type JsonObject, isObject } from '../protocol/json/json.ts'
import type { Graph, UpstreamNode } from './types.ts'
import { visibleUpstreams } from './visible-upstreams.ts'

const LISTED = ['tools', 'prompts', 'resources'] as const

/** What all upstreams together can do. One that was never reached counts for every list, as it may come back. */
export function mergedCapabilities(graph: Graph): JsonObject {
  const merged: JsonObject = {}
  for (const node of graph.upstreams.values()) {
    const own = node.upstream.server?.capabilities ?? unknownCapabilities(node)
    for (const key of LISTED)
      if (own[key] !== undefined) merged[key] = { ...(merged[key] as object), listChanged: true }
    if (isObject(own.resources) && own.resources.subscribe === true)
      merged.resources = { listChanged: true, subscribe: true }
    if (own.completions !== undefined) merged.completions = {}
    if (own.logging !== undefined) merged.logging = {}
    addExtensions(merged, passedExtensions(own, graph.upstreams.size === 1))
    Object.assign(merged, experimentalOf(own, graph.upstreams.size === 1))
  }
  return merged
}

/**
 * Whether any upstream may have a capability, without merging what all of them have: every exchange asks. One that was never
 * reached may have any.
 */
export function offersCapability({ upstreams }: Graph, capability: string): boolean {
  for (const { upstream } of upstreams.values()) {
    const { server, state } = upstream
    if (server === undefined ? state !== 'stopped' : server.capabilities[capability] !== undefined)
      return true
  }
  return false
}

/** The first declared upstream says how an extension is set. */
function addExtensions(merged: JsonObject, extensions: JsonObject | undefined): void {
  if (extensions !== undefined)
    merged.extensions = { ...extensions, ...(merged.extensions as JsonObject | undefined) }
}

/** What nobody specified can only be called where there is one place for it to go. */
function experimentalOf({ experimental }: JsonObject, isOnly: boolean): JsonObject {
  return isOnly && isObject(experimental) ? { experimental } : {}
}

function unknownCapabilities(node: UpstreamNode): JsonObject {
  return node.upstream.state === 'stopped' ? {} : { tools: {}, prompts: {}, resources: {} }
}

/** Waits until every upstream has been spoken to once, but no longer than its grace. */
export async function known({ upstreams, grace }: Graph): Promise<void> {
  const waiting = [...upstreams.values()].filter(
    ({ upstream }) => upstream.server === undefined && upstream.state === 'starting',
  )
  if (waiting.length > 0) await Promise.all(waiting.map(({ upstream }) => grace.wait(upstream)))
}

/** What the upstreams tell a model about their use, each under its name where there are several; nothing of those that rules hide. */
export async function mergedInstructions(graph: Graph, session: Session): Promise<string | undefined> {
  if (graph.config.server.instructions !== undefined) return graph.config.server.instructions
  const speaks = ({ upstream }: UpstreamNode): boolean => upstream.server?.instructions !== undefined
  if (![...graph.upstreams.values()].some(speaks)) return undefined
  const visible = await visibleUpstreams(graph, session)
  const texts = visible
    .filter(speaks)
    .map(({ upstream: { name, server } }) =>
      visible.length === 1 ? server?.instructions : `# ${name}\n${server?.instructions ?? ''}`,
    )
  return texts.length === 0 ? undefined : texts.join('\n\n')
}
