import type { Clock, Config, Fetch, Log } from '../api/index.ts'

interface Around {
  readonly clock: Clock
  readonly log: Log
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The guarded fetch of a configuration, which is loaded by the first who asks for something. */
export function lazyFetch({ network }: Config, { clock, log, environment }: Around): Fetch {
  let loading: Promise<Fetch> | undefined
  return async (url, options) => {
    loading ??= import('../http-client/guard/guarded-fetch.ts').then(({ guardedFetch }) =>
      guardedFetch({ clock, log, environment, allowed: network.private }),
    )
    return (await loading)(url, options)
  }
}
