import type { Config, PluginApi, Principal } from '../../../src/plugin.ts'
import { STRANGER } from '../../../src/plugin.ts'
import type { OAuthService } from '../service.ts'
import { isConnected } from '../upstreams.ts'
import type { AnswersHost } from './answers.ts'
import { withLogins } from './answers.ts'
import { Arrivals, Browsers } from './browsers.ts'
import { Consents, Places, Visits } from './visits.ts'
import type { Proof } from './links.ts'
import { Links } from './links.ts'
import { People } from './person.ts'
import type { Look } from './routes.ts'
import { CALLBACK, CONNECT, isPagePath, Pages, PERSON } from './routes.ts'

/** Issuer of callers that an API key identifies. */
const KEYS = 'api-key'

/** State that outlives a reload: links that are open, and browsers that have opened them. */
export class ConnectState {
  readonly links: Links
  readonly browsers: Browsers
  readonly arrivals: Arrivals
  readonly consents: Consents
  readonly visits: Visits
  /** Addresses that listeners are bound to, by name. */
  readonly bound = new Map<string, string>()

  readonly places: Places

  constructor({ clock, shared, place }: Pick<PluginApi, 'clock' | 'shared' | 'place'>) {
    const places = new Places({ shared, place })
    this.places = places
    this.links = new Links(clock, () => places.newName('link'))
    this.browsers = new Browsers(clock, shared === undefined ? '' : `-${places.suffix}`)
    this.consents = new Consents(shared)
    this.visits = new Visits(shared, (account, upstream) => this.links.of(account, upstream)?.done())
    this.arrivals = new Arrivals(clock)
  }
}

/** Sends callers who must log in to pages of this gateway, and serves those. */
export function connectCallers(
  api: PluginApi<Config['oauth']>,
  service: OAuthService,
  state: ConnectState,
): void {
  const { clock, config, hooks, log, options } = api
  const person = options?.person
  const people = person === undefined ? undefined : new People(person, api)
  const host: AnswersHost = {
    links: state.links,
    visits: state.visits,
    rest: ms => new Promise(resolve => void clock.after(ms, resolve)),
    hasLoggedIn: (account, upstream) =>
      service.waiting.hasLoggedIn(upstream, service.flow(upstream).resource, account),
    baseOf: listener => baseOf(config, listener, state.bound.get(listener)),
    proofOf: principal => proofOf(config, people, principal),
  }
  const pages = new Pages({
    ...host,
    ...{ browsers: state.browsers, arrivals: state.arrivals, consents: state.consents, visits: state.visits },
    places: state.places,
    ...{ logins: service.logins, people, log },
    look: (upstream, account) => look(service, upstream, account),
    record: event => api.record(event),
  })
  hooks.listening.tap(({ name, url }) => {
    if (url !== undefined) state.bound.set(name, new URL(url).origin)
  })
  hooks.dispatch.tap({ phase: 'policy' }, (next, { name, spec }) =>
    isConnected(spec) ? withLogins(name, next, host) : undefined,
  )
  // Without authentication there is nobody to log in, and nothing to open.
  hooks.authenticate.tap({ stage: 'trace', listeners: coveredBy(config) }, ({ path }) =>
    isPagePath(path) ? STRANGER : undefined,
  )
  for (const path of [`${CONNECT}*`, PERSON, CALLBACK])
    hooks.http.for(path).tap(request => pages.serve(request))
}

async function look(service: OAuthService, upstream: string, account: string): Promise<Look> {
  const flow = service.flow(upstream)
  const { server, scopes } = await flow.prepare(account, [])
  return { host: new URL(flow.spec.url).host, issuer: server.issuer, scopes }
}

function proofOf({ auth }: Config, people: People | undefined, { issuer }: Principal): Proof | undefined {
  if (issuer === people?.issuer) return 'person'
  const isOfMachine = issuer === KEYS || auth?.certificates?.some(one => one.issuer === issuer) === true
  return isOfMachine ? 'code' : undefined
}

/** URL of the gateway as clients of a listener know it. An address of all interfaces is nobody's. */
function baseOf({ listeners }: Config, name: string, bound: string | undefined): string | undefined {
  const spec = listeners[name]
  if (spec?.type !== 'http') return undefined
  if (spec.publicUrl !== undefined) {
    const { origin, pathname } = new URL(spec.publicUrl)
    return origin + pathname.replace(/\/+$/, '')
  }
  return /^(0\.0\.0\.0|\[?::\]?)$/.test(spec.host) ? undefined : bound
}

function coveredBy({ auth, listeners }: Config): readonly string[] {
  if (auth === undefined) return []
  return auth.listeners ?? Object.keys(listeners).filter(name => listeners[name]?.type === 'http')
}
