import { resolve } from 'node:path'
import type { LoadedConfig } from '../config/index.ts'
import type { Clock, Log } from '../api/index.ts'
import type { GatewayOptions } from '../api/gateway.ts'
import { Memories } from '../store/memories.ts'
import { sealKey } from '../store/seal-key.ts'
import { Seal } from '../core/seal.ts'
import { PrivatePlaces } from '../util/private-place.ts'

/** Makes the seal of ids and cursors: with a key that outlives this process where anything does. */
export async function openSeal(
  memories: Memories | undefined,
  { fresh }: GatewayOptions,
  log: Log,
): Promise<Seal> {
  return memories === undefined
    ? new Seal()
    : new Seal(await sealKey({ directory: memories.directory, fresh, log }))
}

/** State that outlives this process, and what of it nobody else may see. */
export async function openState(
  ...given: Parameters<typeof openMemories>
): Promise<{ readonly memories: Memories | undefined; readonly privatePlaces: PrivatePlaces }> {
  const memories = await openMemories(...given)
  const privatePlaces = new PrivatePlaces()
  if (memories !== undefined) privatePlaces.add([{ directory: memories.directory }])
  return { memories, privatePlaces }
}

/** Directory that the configuration names, or else the builder of the gateway. */
async function openMemories(
  { config, directory }: LoadedConfig,
  { state, fresh }: GatewayOptions,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<Memories | undefined> {
  if (config.state === false) return undefined
  const place = config.state === undefined ? state : resolve(directory, config.state.directory)
  return place === undefined ? undefined : Memories.open({ directory: resolve(place), fresh, log, clock })
}
