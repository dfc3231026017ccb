import {
  gatewayError,
  parseDuration,
  type Answer,
  type Call,
  type Clock,
  type Dispatch,
  type Plugin,
  type UpstreamConfig,
} from '../../src/plugin.ts'

/** Gives every call to an upstream a deadline that nothing extends, progress included, but for a client that thinks. */
export const resilience: Plugin = {
  name: 'resilience',
  claims: { upstream: ['timeout'], always: true },
  setup({ hooks, clock }) {
    hooks.dispatch.tap((next, { spec }) => {
      const deadlineOf = deadlines(spec)
      return call => {
        const ms = deadlineOf(call)
        return ms === 0 ? next(call) : within(ms, call, next, clock)
      }
    })
  },
}

/** How long a call may take, in milliseconds; 0 means as long as it likes. */
function deadlines(spec: UpstreamConfig): (call: Call) => number {
  const ms = parseDuration(spec.timeout)
  const tools = new Map(
    Object.entries(spec.tools?.timeout ?? {}).map(([name, timeout]) => [name, parseDuration(timeout)]),
  )
  if (tools.size === 0) return () => ms
  return ({ method, params }) =>
    (method === 'tools/call' ? tools.get(params?.name as string) : undefined) ?? ms
}

/** @throws GatewayError `GW_TIMEOUT`, after the upstream has been told to stop. */
async function within(ms: number, call: Call, next: Dispatch, clock: Clock): Promise<Answer> {
  let disarm = (): void => undefined
  const expired = new Promise<never>((_resolve, reject) => {
    const arm = (): void => {
      disarm = clock.after(ms, expire)
    }
    const expire = (): void => {
      // The server waits for its client, which may take its time.
      if (call.exchange.asking > 0) return arm()
      // First, so that what the upstream makes of the cancellation comes second.
      reject(gatewayError('GW_TIMEOUT', { upstream: call.upstream, method: call.method, ms }))
      call.cancel(`no answer within ${ms} ms`)
    }
    arm()
  })
  try {
    return await Promise.race([next(call), expired])
  } finally {
    disarm()
  }
}
