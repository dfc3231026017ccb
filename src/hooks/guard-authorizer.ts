import type { Authorizer, UpstreamConfig, UpstreamContext } from '../api/index.ts'
import { failed, type TapOrigin } from './guard.ts'

type Authorize = (spec: UpstreamConfig, context: UpstreamContext) => Authorizer | undefined | void

/** Names the plugin where an authorizer that its tap of `authorize` returned throws later: its words are not for callers. */
export function guardAuthorizer(run: Authorize, origin: TapOrigin): Authorize {
  return (spec, context) => {
    const made = run(spec, context)
    return made === undefined || made === null ? undefined : guarded(made, origin)
  }
}

function guarded(authorizer: Authorizer, origin: TapOrigin): Authorizer {
  const fail = (error: unknown): never => {
    throw failed(origin, error)
  }
  const guard =
    <A extends unknown[], R>(run: (...args: A) => R) =>
    (...args: A): R => {
      try {
        return run(...args)
      } catch (error) {
        return fail(error)
      }
    }
  return {
    headers: guard(request => {
      const headers = authorizer.headers(request)
      return headers instanceof Promise ? headers.catch(fail) : headers
    }),
    refused: guard((request, refusal) => authorizer.refused(request, refusal).catch(fail)),
    ...(authorizer.query === undefined ? {} : { query: guard(account => authorizer.query?.(account) ?? {}) }),
    ...(authorizer.accountOf === undefined
      ? {}
      : { accountOf: guard(principal => authorizer.accountOf?.(principal) ?? '') }),
  }
}
