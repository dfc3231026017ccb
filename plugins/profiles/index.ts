import {
  gatewayError,
  METHODS,
  refuse,
  RPC,
  type Config,
  type Dispatch,
  type ExplainStep,
  type Plugin,
  type Session,
} from '../../src/plugin.ts'
import { check } from './check.ts'
import { profilesOf, type Profiles } from './profiles.ts'

/** Methods that say what clients are to know of the gateway as a whole. */
const INTRODUCTIONS = ['initialize', 'server/discover']

/**
 * Several views of one gateway. A profile narrows what the filters left, under the names that clients know; what it
 * hides is unknown, and an upstream that it does not show is never called for it.
 */
export const profiles: Plugin<NonNullable<Config['profiles']>> = {
  name: 'profiles',
  claims: { section: 'profiles' },
  check,
  setup({ config, options, hooks }) {
    const views = profilesOf(options, config)

    hooks.session.tap({ stage: 'identify' }, session => {
      if (views.find(session) === 'none')
        // Nothing of the others to a client: some may be for somebody else.
        throw gatewayError('GW_PROFILE_UNKNOWN', { profile: session.profile, meant: '' })
    })
    // After the filters, so that it speaks of names as clients know them.
    const common = new Set<string>()
    const judgesUris = Object.values(options).some(({ resources }) => resources !== undefined)
    hooks.catalog.tap({ stage: 'transform', judgesUris }, (entries, viewer) => {
      const profile = views.find(viewer)
      if (profile === 'none') return []
      if (profile === 'all') return undefined
      return entries
        .filter(entry => common.has(entry.upstream) || profile.shows(entry))
        .map(entry => profile.dressed(entry))
    })
    hooks.dispatch.tap((next, { name, isForAll }) => {
      if (isForAll === true) common.add(name)
      return isForAll === true ? undefined : guarded(next, name, views)
    })
    hooks.explain.tap((steps, { exchange: { session } }) => [
      ...steps,
      explainView(views, session.profile, session),
    ])
    hooks.response.tap({ methods: INTRODUCTIONS }, (answer, { session }) => {
      const profile = views.find(session)
      if (!('result' in answer) || typeof profile === 'string') return undefined
      const { instructions } = profile
      return instructions === undefined
        ? undefined
        : { result: answer.result.edited(['instructions'], { instructions }) }
    })
  },
}

/** Says which view of the gateway the caller has. */
function explainView(views: Profiles, asked: string | undefined, viewer: Session): ExplainStep {
  const profile = views.find(viewer)
  const base = { by: 'profiles', at: 'caller' } as const
  if (profile === 'none')
    return { ...base, does: 'refuses', text: `the profile "${String(asked)}" is not for this caller` }
  if (profile === 'all') return { ...base, does: 'passes', text: 'no profile narrows what the caller sees' }
  return {
    ...base,
    does: 'passes',
    text: `the caller looks through the profile "${profile.name}"`,
    rule: `/profiles/${profile.name}`,
  }
}

/** Lists pass: they are the same for all profiles, and filtered above. */
function guarded(next: Dispatch, name: string, views: Profiles): Dispatch {
  return call => {
    const profile = views.find(call.exchange.session)
    const isHidden = profile === 'none' || (profile !== 'all' && !profile.has(name))
    if (!isHidden || METHODS.get(call.method)?.to === 'list') return next(call)
    return Promise.resolve(refuse(RPC.methodNotFound, `Method not found: ${call.method}`))
  }
}
