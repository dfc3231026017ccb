import { isObject, type JsonObject, type PluginHooks } from '../../src/plugin.ts'
import { oauthError } from './errors.ts'
import type { OAuthService } from './service.ts'
import { GATEWAY_ACCOUNT } from './types.ts'

/** Verbs by which the owner's commands log in at a running gateway. */
export function addVerbs({ control }: PluginHooks, service: OAuthService): void {
  control.for('login.begin').tap(async params => {
    const { upstream, account = GATEWAY_ACCOUNT, redirectUri, scopes } = params
    const request = {
      upstream: textIn('upstream', upstream),
      account: textIn('account', account),
      redirectUri: textIn('redirectUri', redirectUri),
      scopes: Array.isArray(scopes) ? scopes.filter(one => typeof one === 'string') : [],
    }
    return { ...(await service.logins.begin(request)) } satisfies JsonObject
  })
  control.for('login.finish').tap(async ({ url }) => {
    const finished: object = await service.logins.finish(textIn('url', url))
    return { ...finished }
  })
}

function textIn(name: string, value: unknown): string {
  if (typeof value === 'string' && !isObject(value)) return value
  throw oauthError('GW_LOGIN_FAILED', { upstream: '', why: `"${name}" must be a text` })
}
