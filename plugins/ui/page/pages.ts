import type { Part } from '../types.ts'
import { Agents } from './views/agents.ts'
import { Approvals } from './views/approvals.ts'
import { Cache } from './views/cache.ts'
import { Calls } from './views/calls.ts'
import { Clients } from './views/clients.ts'
import { Config } from './views/config.ts'
import { Connect } from './views/connect.ts'
import { Logins } from './views/logins.ts'
import type { PageProps } from './state.ts'
import { Overview } from './views/overview.ts'
import type { View } from './parts.ts'
import { Tools } from './views/tools.ts'

/** All pages, in the order of the list. One with a part is there where the gateway has that. */
export const PAGES: readonly {
  readonly id: string
  readonly title: string
  readonly part?: Part
  readonly view: (props: PageProps) => View
}[] = [
  { id: 'overview', title: 'Overview', view: Overview },
  { id: 'calls', title: 'Calls', part: 'calls', view: Calls },
  { id: 'tools', title: 'Tools', view: Tools },
  { id: 'clients', title: 'Clients', part: 'clients', view: Clients },
  { id: 'approvals', title: 'Approvals', part: 'approvals', view: Approvals },
  { id: 'logins', title: 'Logins', part: 'logins', view: Logins },
  { id: 'agents', title: 'Tasks and agents', view: Agents },
  { id: 'cache', title: 'Cache', part: 'cache', view: Cache },
  { id: 'config', title: 'Configuration', view: Config },
  { id: 'connect', title: 'Connect', view: Connect },
]
