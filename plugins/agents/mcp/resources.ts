import {
  Payload,
  principalKey,
  refuse,
  RPC,
  type Answer,
  type Call,
  type Exchange,
  type Session,
  type UpstreamContext,
} from '../../../src/plugin.ts'
import type { TaskView } from '../types/tasks.ts'
import type { McpParts } from './parts.ts'
import { done, hasEnded, structured } from './said.ts'
import { MAX_PAGE_BYTES } from './schemas.ts'

const SCHEME = 'agent-task://'
/** Tasks that are listed, of one caller, and watched, of all. */
const MAX_LISTED = 100
const MAX_WATCHED = 1000

const PARTS = {
  '': { name: 'task', type: 'application/json', description: 'How a delegated task does, and its result.' },
  '/log': {
    name: 'task-log',
    type: 'text/plain',
    description: 'What happened while an agent worked on a task.',
  },
  '/diff': { name: 'task-diff', type: 'text/x-diff', description: 'What an agent changed for a task.' },
} as const
type Part = keyof typeof PARTS

/** `resources/templates/list`. */
export const TEMPLATES = Payload.of(
  {
    resultType: 'complete',
    resourceTemplates: Object.entries(PARTS).map(([part, { name, type, description }]) => ({
      uriTemplate: `${SCHEME}{task_id}${part}`,
      name,
      description,
      mimeType: type,
    })),
    ttlMs: 300_000,
    cacheScope: 'public',
  },
  'modern',
)

/** `resources/list`: the newest tasks of this caller. */
export function listResources({ exchange }: Call, parts: McpParts): Answer {
  const views = parts.callers.list(parts.service(), parts.callers.callerOf(exchange), MAX_LISTED)
  const resources = views.map(view => ({
    uri: SCHEME + view.id,
    name: view.id,
    title: `Task ${view.id}${view.agent === undefined ? '' : ` at ${view.agent}`}`,
    mimeType: PARTS[''].type,
    annotations: { lastModified: new Date(view.updatedAt).toISOString() },
  }))
  return done({ resources, ttlMs: 0, cacheScope: 'private' })
}

/** `resources/read`. */
export function readResource({ params, exchange }: Call, parts: McpParts): Answer {
  const uri = String(params?.uri)
  const found = find(uri, exchange, parts)
  if (found === undefined) return notFound(uri)
  const { view, part, owner } = found
  const mimeType = PARTS[part].type
  if (part === '') return contents(uri, mimeType, JSON.stringify(structured(view), undefined, 2))
  const page = parts.service().page(view.id, owner, part === '/log' ? 'log' : 'diff', 0, MAX_PAGE_BYTES)
  const rest =
    page?.next === undefined ? {} : { 'io.tapgate/total': page.total, 'io.tapgate/next': page.next }
  return contents(uri, mimeType, page?.text ?? '', rest)
}

function contents(uri: string, mimeType: string, text: string, meta: object = {}): Answer {
  const _meta = Object.keys(meta).length === 0 ? {} : { _meta: meta }
  return done({ contents: [{ uri, mimeType, text, ..._meta }], ttlMs: 0, cacheScope: 'private' })
}

function notFound(uri: string): Answer {
  return refuse(RPC.invalidParams, `Resource not found: ${uri}`, { uri })
}

function find(
  uri: string,
  exchange: Exchange,
  { service, callers }: McpParts,
): { view: TaskView; part: Part; owner: string } | undefined {
  if (!uri.startsWith(SCHEME)) return undefined
  const part = (['/log', '/diff'] as const).find(end => uri.endsWith(end)) ?? ''
  const id = uri.slice(SCHEME.length, uri.length - part.length)
  const caller = callers.callerOf(exchange)
  const view = callers.find(service(), id, caller)
  return view === undefined ? undefined : { view, part, owner: caller.owner }
}

/** Who wants to hear of which task; what is told goes to its owner alone. */
export class Watched {
  readonly #watches = new Map<string, () => void>()
  readonly #notify: UpstreamContext['notify']

  constructor(notify: UpstreamContext['notify']) {
    this.#notify = notify
  }

  /** `resources/subscribe`. */
  subscribe({ params, exchange }: Call, parts: McpParts): Answer {
    const uri = String(params?.uri)
    const found = find(uri, exchange, parts)
    if (found === undefined) return notFound(uri)
    if (this.#watches.has(uri)) return done({})
    if (this.#watches.size >= MAX_WATCHED) return refuse(RPC.internal, 'Subscription limit reached')
    const { view, owner } = found
    const tell = (now: TaskView): void => {
      const isMeant = ({ principal }: Session): boolean => principalKey(principal) === owner
      this.#notify({ method: 'notifications/resources/updated', params: { uri } }, isMeant)
      if (hasEnded(now)) this.#end(uri)
    }
    this.#watches.set(uri, parts.service().watch(view.id, owner, tell))
    return done({})
  }

  /** `resources/unsubscribe`. */
  unsubscribe({ params }: Call): Answer {
    this.#end(String(params?.uri))
    return done({})
  }

  #end(uri: string): void {
    this.#watches.get(uri)?.()
    this.#watches.delete(uri)
  }
}
