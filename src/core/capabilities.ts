import type { Session } from '../api/index.ts'
import { filterExtensions } from '../protocol/era/capabilities.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { Graph, UpstreamNode } from './graph-types.ts'
import { createUnlistedEntry } from '../api/catalog-entry.ts'
import type { UpstreamInstructions } from '../api/catalog-view.ts'
import { isExtensionMethod, KINDS, SKILLS } from '../protocol/methods.ts'
import { readMap } from '../util/plain-data.ts'
import { settlesWithin } from '../util/clock.ts'

/** Maximum wait in milliseconds for the lists that decide which upstreams a client may see. */
const MAX_LISTS_MS = 2000

/** Additional wait in milliseconds for the remaining upstreams after first contact with one. */
const MAX_OTHERS_MS = 1000

const LISTED = ['tools', 'prompts', 'resources'] as const

/** Merges all upstreams' capabilities. An unreached upstream counts for every list, as it may recover. */
export function mergeCapabilities(graph: Graph): JsonObject {
  const merged: JsonObject = {}
  for (const node of graph.upstreams.values()) {
    const own = node.upstream.server?.capabilities ?? assumeCapabilities(node)
    for (const key of LISTED)
      if (own[key] !== undefined) merged[key] = { ...(merged[key] as object), listChanged: true }
    if (isObject(own.resources) && own.resources.subscribe === true)
      merged.resources = { listChanged: true, subscribe: true }
    if (own.completions !== undefined) merged.completions = {}
    if (own.logging !== undefined) merged.logging = {}
    addExtensions(
      merged,
      filterExtensions(own, extension => hasOneUpstream(graph, extension)),
    )
    Object.assign(merged, mergeExperimental(own, graph.upstreams.size === 1))
  }
  return merged
}

function hasOneUpstream(graph: Graph, extension: string): boolean {
  return (
    [...graph.upstreams.values()].filter(node => extension in readMap(getCapabilities(node), 'extensions')).length === 1
  )
}

function getCapabilities({ upstream }: UpstreamNode): JsonObject {
  return upstream.server?.capabilities ?? {}
}

/** Finds the only upstream that announces an unknown method's extension, or the only upstream at all. */
export function findMethodOwner(graph: Graph, method: string, viewer: Viewer): string | undefined {
  const nodes = [...graph.upstreams.values()]
  const owners =
    nodes.length === 1
      ? nodes
      : nodes.filter(node =>
          Object.keys(readMap(getCapabilities(node), 'extensions')).some(one => isExtensionMethod(one, method)),
        )
  const [owner, second] = owners
  if (owner === undefined || second !== undefined) return undefined
  return nodes.length === 1 || isVisible(viewer, owner, graph) ? owner.upstream.name : undefined
}

/** The first declared upstream decides an extension's settings; skill directories can be read if any allows it. */
function addExtensions(merged: JsonObject, extensions: JsonObject | undefined): void {
  if (extensions === undefined) return
  const own = readMap(merged, 'extensions')
  merged.extensions = { ...extensions, ...own }
  if (readMap(extensions, SKILLS).directoryRead === true)
    merged.extensions = { ...extensions, ...own, [SKILLS]: { ...readMap(own, SKILLS), directoryRead: true } }
}

/** Passes experimental capabilities through only for a single upstream: with several, the target is unknown. */
function mergeExperimental({ experimental }: JsonObject, isOnly: boolean): JsonObject {
  return isOnly && isObject(experimental) ? { experimental } : {}
}

function assumeCapabilities(node: UpstreamNode): JsonObject {
  return node.upstream.state === 'stopped' ? {} : { tools: {}, prompts: {}, resources: {} }
}

/** Waits for first contact with every upstream, within its grace period; one second more once any has answered. */
export async function waitForFirstContact({ upstreams, grace, clock }: Graph): Promise<void> {
  const all = [...upstreams.values()].map(({ upstream }) => upstream)
  const waiting = all.filter(({ server, state }) => server === undefined && state === 'starting')
  if (waiting.length === 0) return
  const greeted = Promise.withResolvers<void>()
  if (all.some(({ server }) => server !== undefined)) greeted.resolve()
  const waits = waiting.map(async upstream => {
    await grace.waitForStart(upstream)
    if (upstream.server !== undefined) greeted.resolve()
  })
  const done = Promise.all(waits)
  await Promise.race([done, greeted.promise.then(() => settlesWithin(clock, MAX_OTHERS_MS, done))])
}

/** Merges the instructions visible to the session, each under its upstream's name if several are visible. */
export async function mergeInstructions(graph: Graph, session: Session): Promise<string | undefined> {
  if (graph.config.server.instructions !== undefined) return graph.config.server.instructions
  if (collectInstructions([...graph.upstreams.values()]).length === 0) return undefined
  const visible = await listVisibleUpstreams(graph, session)
  const all = collectInstructions(visible)
  const { principal, profile } = session
  const instructions = graph.hooks.getRunner('instructions')?.(all, { principal, profile }) ?? all
  const texts = instructions.map(({ upstream, text }) => (visible.length === 1 ? text : `# ${upstream}\n${text}`))
  return texts.length === 0 ? undefined : texts.join('\n\n')
}

function collectInstructions(nodes: readonly UpstreamNode[]): UpstreamInstructions[] {
  return nodes.flatMap(({ upstream: { name, server } }) =>
    server?.instructions === undefined ? [] : [{ upstream: name, text: server.instructions }],
  )
}

type Viewer = Pick<Session, 'principal' | 'profile'>

/** Returns all upstreams without rules that hide entries, else those with a visible entry. */
export async function listVisibleUpstreams(graph: Graph, session: Session): Promise<UpstreamNode[]> {
  const nodes = [...graph.upstreams.values()]
  const doubtful = nodes.filter(node => !isVisible(session, node, graph))
  const lists = doubtful.flatMap(({ upstream }) =>
    KINDS.map(kind => graph.catalog.getList(upstream.name, kind, session)),
  )
  // Upstreams with late lists are omitted.
  if (lists.length > 0) await settlesWithin(graph.clock, MAX_LISTS_MS, Promise.allSettled(lists))
  const listed = new Set(doubtful.filter(node => isListed(session, node, graph)))
  return nodes.filter(node => !doubtful.includes(node) || listed.has(node))
}

/** Checks from cached lists whether rules let a caller see an upstream. */
export function isVisible(viewer: Viewer, node: UpstreamNode, graph: Graph): boolean {
  if (graph.hooks.getRunner('catalog') === undefined) return true
  // Rules for a whole upstream also match an entry without a name.
  const any = createUnlistedEntry('tools', node.upstream.name, '', node.prefix)
  return graph.catalog.applyCatalogTaps(any, viewer) !== undefined || isListed(viewer, node, graph)
}

function isListed(viewer: Viewer, { upstream }: UpstreamNode, graph: Graph): boolean {
  return KINDS.some(kind => graph.catalog.hasVisibleEntries(kind, viewer, upstream.name))
}
