import type { Answer, CallRecord, Clock, Dispatch, EndedSession, Upstream } from '../../src/plugin.ts'
import { GatewayError, METHODS, RPC } from '../../src/plugin.ts'
import type { Family, SeriesLabels } from './series.ts'
import { Histogram, KeyMap } from './series.ts'

const OTHER = 'other'
/** Methods whose target is in the catalog; URIs and task ids are too many. */
const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])
/** Bucket bounds from the OpenTelemetry conventions for MCP, in seconds. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
/** Maximum error types per upstream with their own series, besides the known ones; servers choose their codes. */
const MAX_ERRORS = 10
const OTHER_ERROR = '_OTHER'
const TOOL_ERROR = 'tool_error'
const KNOWN_ERRORS: ReadonlySet<string> = new Set([TOOL_ERROR, OTHER_ERROR, ...Object.values(RPC).map(String)])
/** Reasons for which the gateway closes a client's session as failed. */
const FAILURES: ReadonlySet<string> = new Set(['refused', 'credentials expired or revoked'])
const TRANSPORTS: Readonly<Record<string, string>> = { stdio: 'pipe', http: 'tcp', socket: 'unix' }

/**
 * Counts calls by method, upstream, tool and outcome, and measures them. Includes the OpenTelemetry histograms for MCP
 * (semantic-conventions-genai, `docs/gen-ai/mcp.md`, status Development): the gateway is a server to clients, and a client to
 * upstreams.
 */
export class CallMetrics {
  #bounds: readonly number[]
  #maxTools: number
  #durations: Histogram<[method: string, upstream: string]>
  readonly #counts = new KeyMap((method: string, upstream: string, tool: string, outcome: string) => {
    return { suffix: '_total', labels: { method, upstream, tool, outcome }, value: 0 }
  })
  readonly #requests = new Histogram(describeOperation, BOUNDS)
  readonly #attempts = new Histogram((upstream: string, method: string, name: string, type: string) => {
    return { ...describeOperation(method, name, type), ...this.#addresses.get(upstream) }
  }, BOUNDS)
  readonly #sessions = new Histogram(describeSession, BOUNDS)
  readonly #connections = new Histogram((upstream: string, version: string, type: string) => {
    return { ...describeSession('', version, type), ...this.#addresses.get(upstream) }
  }, BOUNDS)
  /** Attributes by upstream. */
  readonly #addresses = new Map<string, SeriesLabels>()
  /** Known names by method and upstream, server-side names by upstream and method, error types by upstream. */
  readonly #labels = new KeyMap((_group: string, _member: string) => new Set<string>())

  /** `bounds` in seconds, ascending. */
  constructor(bounds: readonly number[], maxTools: number) {
    this.#bounds = bounds
    this.#maxTools = maxTools
    this.#durations = new Histogram(describeCall, bounds)
  }

  /** Applies new settings. Changed bounds reset the histogram. */
  configure(bounds: readonly number[], maxTools: number): void {
    this.#maxTools = maxTools
    if (String(bounds) === String(this.#bounds)) return
    this.#bounds = bounds
    this.#durations = new Histogram(describeCall, bounds)
  }

  recordCall({ method: called, upstream, name, outcome, code, ms }: CallRecord): void {
    const method = METHODS.has(called) ? called : OTHER
    // Unknown names are omitted, so that clients cannot create series.
    const named = upstream !== '' && NAMED.has(method) ? name : ''
    const tool = limitLabel(this.#labels.getOrCreate(method, upstream), named, this.#maxTools, OTHER)
    const type = this.#limitError(upstream, outcome === 'is_error' ? TOOL_ERROR : String(code || ''))
    this.#counts.getOrCreate(method, upstream, tool, outcome).value++
    this.#durations.add(ms, method, upstream)
    this.#requests.add(ms, method, tool, type)
  }

  /** Wraps dispatch to measure each attempt. */
  wrap(next: Dispatch, { name: upstream, spec }: Upstream, clock: Clock): Dispatch {
    this.#addresses.set(upstream, { 'tapgate.upstream': upstream, ...describeAddress(spec) })
    return call => {
      const began = clock.now()
      const method = METHODS.has(call.method) ? call.method : OTHER
      const named = NAMED.has(method) ? String(call.params?.name) : ''
      const record = (error: string): void => {
        // The server's name differs from the name in the catalog.
        const tool = limitLabel(this.#labels.getOrCreate(upstream, method), named, this.#maxTools, OTHER)
        this.#attempts.add(clock.now() - began, upstream, method, tool, error)
      }
      return next(call).then(
        answer => {
          record(this.#limitError(upstream, getErrorType(answer)))
          return answer
        },
        (error: unknown) => {
          record(error instanceof GatewayError ? error.code : OTHER_ERROR)
          throw error
        },
      )
    }
  }

  /** `listener` is the listener type for a client's session. */
  recordSession({ peer, name, version: reported, ms, reason, error = '' }: EndedSession, listener = ''): void {
    const version = limitLabel(this.#labels.getOrCreate('mcp.protocol.version', ''), reported, MAX_ERRORS, OTHER_ERROR)
    if (peer === 'server') this.#connections.add(ms, name, version, error)
    else this.#sessions.add(ms, TRANSPORTS[listener] ?? '', version, FAILURES.has(reason) ? OTHER_ERROR : '')
  }

  #limitError(upstream: string, type: string): string {
    if (type === '' || KNOWN_ERRORS.has(type)) return type
    return limitLabel(this.#labels.getOrCreate('error.type', upstream), type, MAX_ERRORS, OTHER_ERROR)
  }

  families(): Family[] {
    return [
      { name: 'tapgate_calls', type: 'counter', help: 'Completed client requests.', samples: this.#counts.values },
      this.#durations.format('tapgate_call_duration_seconds', 'Duration of client requests.'),
      this.#requests.format('mcp.server.operation.duration', 'Duration of client requests at the gateway.', 's'),
      this.#attempts.format('mcp.client.operation.duration', 'Duration of request attempts at an upstream.', 's'),
      this.#sessions.format('mcp.server.session.duration', 'Duration of sessions of clients.', 's'),
      this.#connections.format('mcp.client.session.duration', 'Duration of connections to upstreams.', 's'),
    ]
  }
}

/** Returns a label's value, or `other` if there are `max` known values already, because peers choose them. */
function limitLabel(known: Set<string>, value: string, max: number, other: string): string {
  if (value === '' || known.has(value)) return value
  if (known.size >= max) return other
  known.add(value)
  return value
}

/** Returns `error.type`; empty on success. */
function getErrorType(answer: Answer): string {
  if ('error' in answer) return String(answer.error.code)
  return 'result' in answer && answer.result.isToolError ? TOOL_ERROR : ''
}

function describeCall(method: string, upstream: string): SeriesLabels {
  return { method, upstream }
}

function describeOperation(method: string, name: string, type: string): SeriesLabels {
  const isTool = method === 'tools/call'
  return {
    'mcp.method.name': method,
    ...(isTool ? { 'gen_ai.operation.name': 'execute_tool' } : {}),
    ...(name === '' ? {} : { [isTool ? 'gen_ai.tool.name' : 'gen_ai.prompt.name']: name }),
    ...(type === '' ? {} : { 'error.type': type }),
    ...(/^-?\d+$/.test(type) ? { 'rpc.response.status_code': type } : {}),
  }
}

function describeSession(transport: string, version: string, type: string): SeriesLabels {
  return {
    'mcp.protocol.version': version,
    ...(transport === '' ? {} : { 'network.transport': transport }),
    ...(type === '' ? {} : { 'error.type': type }),
  }
}

function describeAddress(spec: Upstream['spec']): SeriesLabels {
  if (!('url' in spec) || !URL.canParse(spec.url)) return spec.type === 'stdio' ? { 'network.transport': 'pipe' } : {}
  const { hostname, port, protocol } = new URL(spec.url)
  const usual = protocol === 'https:' || protocol === 'wss:' ? '443' : '80'
  return { 'network.transport': 'tcp', 'server.address': hostname, 'server.port': port === '' ? usual : port }
}
