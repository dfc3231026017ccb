import type { ControlClient } from '../../control/client.ts'
import { isObject } from '../../protocol/json/json.ts'

/** Package downloads may take longer. */
const PATIENCE_MS = 30_000
const LOOK_MS = 200

/** Waits until no server is starting, and reports progress. Returns those that still are at the timeout. */
export async function waitForServers(
  client: Pick<ControlClient, 'request'>,
  step: (text: string) => void,
  patienceMs = PATIENCE_MS,
): Promise<readonly string[]> {
  const end = performance.now() + patienceMs
  for (;;) {
    const { upstreams } = await client.request('ps')
    const rows = Array.isArray(upstreams) ? upstreams.filter(isObject) : []
    const starting = rows.flatMap(({ name, state }) => (state === 'starting' ? [String(name)] : []))
    if (starting.length === 0 || performance.now() > end) return starting
    step(`waiting for ${starting.join(', ')} (${rows.length - starting.length} of ${rows.length} servers ready)`)
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
}
