import type { Config } from '../config/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { meant } from '../util/suggest.ts'

/** Refuses the name of a profile that the configuration has not. @throws GatewayError GW_PROFILE_UNKNOWN */
export function checkProfile(profile: string, { profiles = {} }: Pick<Config, 'profiles'>): void {
  if (Object.hasOwn(profiles, profile)) return
  throw gatewayError('GW_PROFILE_UNKNOWN', { profile, meant: meant(profile, Object.keys(profiles)) })
}
