import type { Gateway } from '../../gateway/gateway.ts'
import type { Listener } from '../../api/index.ts'

/** What the commands need of a gateway, be it one process or several. */
export type RunningGateway = Pick<
  Gateway,
  'start' | 'close' | 'ended' | 'settled' | 'inspect' | 'control' | 'on' | 'reload'
> & { readonly listeners: readonly Pick<Listener, 'name' | 'type' | 'url' | 'ended'>[] }
