import {
  type Answer,
  type Clock,
  type Dispatch,
  type Exchange,
  type Figure,
  GatewayError,
  METHODS,
} from '../../src/plugin.ts'

/** Bounds that OpenTelemetry gives for durations of MCP operations, in seconds. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
const OTHER = 'other'
/** Classes of errors that have a series of their own; codes are a server's to choose. */
const MOST_ERRORS = 50
const OTHER_ERROR = '_OTHER'
const TOOL_ERROR = 'tool_error'

interface Line {
  readonly buckets: Float64Array
  count: number
  seconds: number
}

/**
 * The two histograms that OpenTelemetry names for MCP: `mcp.server.operation.duration` of requests of clients,
 * `mcp.client.operation.duration` of tries at servers. In Prometheus a dot is `_`, and the unit stands at the end.
 */
export class Operations {
  readonly #server = new Histogram()
  readonly #client = new Histogram()

  /** A request of a client is settled after so many milliseconds. */
  settled({ method, answer }: Exchange, ms: number): void {
    this.#server.add(method, errorTypeOf(answer), ms)
  }

  /** Wraps the calls of a server: each try is measured. */
  wrap(next: Dispatch, clock: Clock): Dispatch {
    return call => {
      const { method } = call
      const began = clock.now()
      return next(call).then(
        answer => {
          this.#client.add(method, errorTypeOf(answer), clock.now() - began)
          return answer
        },
        (error: unknown) => {
          const type = error instanceof GatewayError ? error.code : OTHER_ERROR
          this.#client.add(method, type, clock.now() - began)
          throw error
        },
      )
    }
  }

  families(): Figure[] {
    return [
      {
        name: 'mcp_server_operation_duration_seconds',
        type: 'histogram',
        help: 'Time that the gateway takes for a request of a client.',
        samples: this.#server.samples(),
      },
      {
        name: 'mcp_client_operation_duration_seconds',
        type: 'histogram',
        help: 'Time that a server takes for one try of a request.',
        samples: this.#client.samples(),
      },
    ]
  }
}

/** Durations by method and class of error. */
class Histogram {
  readonly #lines = new Map<string, Map<string, Line>>()

  add(method: string, errorType: string, ms: number): void {
    const line = this.#line(METHODS.has(method) ? method : OTHER, errorType)
    const seconds = ms / 1000
    line.count++
    line.seconds += seconds
    let bucket = 0
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++
    if (bucket < BOUNDS.length) line.buckets[bucket] = (line.buckets[bucket] as number) + 1
  }

  #line(method: string, errorType: string): Line {
    let byError = this.#lines.get(method)
    if (byError === undefined) this.#lines.set(method, (byError = new Map<string, Line>()))
    const type = byError.has(errorType) || byError.size < MOST_ERRORS ? errorType : OTHER_ERROR
    let line = byError.get(type)
    if (line === undefined) {
      line = { buckets: new Float64Array(BOUNDS.length), count: 0, seconds: 0 }
      byError.set(type, line)
    }
    return line
  }

  samples(): Figure['samples'] {
    return [...this.#lines].flatMap(([method, byError]) =>
      [...byError].flatMap(([errorType, line]) => samplesOf(line, method, errorType)),
    )
  }
}

function samplesOf({ buckets, count, seconds }: Line, method: string, errorType: string): Figure['samples'] {
  const labels: Record<string, string> = { mcp_method_name: method }
  if (errorType !== '') labels.error_type = errorType
  let sum = 0
  const counted = BOUNDS.map((bound, place) => {
    sum += buckets[place] as number
    const le = Number.isInteger(bound) ? `${bound}.0` : String(bound)
    return { suffix: '_bucket', labels: { ...labels, le }, value: sum }
  })
  return [
    ...counted,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: seconds },
    { suffix: '_count', labels, value: count },
  ]
}

/** `error.type` of an answer; empty where nothing went wrong. */
function errorTypeOf(answer: Answer | undefined): string {
  if (answer === undefined) return OTHER_ERROR
  if ('error' in answer) return String(answer.error.code)
  return 'result' in answer && answer.result.isToolError ? TOOL_ERROR : ''
}
