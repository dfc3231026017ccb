import { resolve } from 'node:path'
import type { LoadedConfig } from '../config/index.ts'
import type { Clock, Log } from '../api/index.ts'
import type { GatewayOptions } from '../api/gateway.ts'
import { Memories } from '../store/memories.ts'
import { sealKey } from '../store/seal-key.ts'
import { Seal } from '../core/seal.ts'
import { ownFolders } from '../processes/sandbox/paths.ts'
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
  ...given: [
    loaded: LoadedConfig,
    options: GatewayOptions,
    means: { readonly log: Log; readonly clock: Clock },
  ]
): Promise<State> {
  const [loaded, { state, fresh, beside, environment = {} }, { log, clock }] = given
  const directory = stateDirectoryOf(loaded, state)
  const isOwn = directory !== undefined && beside !== true
  const memories = isOwn ? await Memories.open({ directory, fresh, log, clock }) : undefined
  const privatePlaces = new PrivatePlaces()
  privatePlaces.add(ownFolders(environment))
  if (directory !== undefined) privatePlaces.add([{ directory }])
  return { memories, directory, privatePlaces }
}

interface State {
  readonly memories: Memories | undefined
  /** Directory for what plugins keep. */
  readonly directory: string | undefined
  readonly privatePlaces: PrivatePlaces
}

/** Directory that the configuration names, or else the builder of the gateway. */
export function stateDirectoryOf(
  { config: { state }, directory }: Pick<LoadedConfig, 'config' | 'directory'>,
  given: string | undefined,
): string | undefined {
  if (state === false) return undefined
  const place = state === undefined ? given : resolve(directory, state.directory)
  return place === undefined ? undefined : resolve(place)
}
