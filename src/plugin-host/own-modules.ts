import { registerHooks } from 'node:module'

const OWN = /^tapgate(?:\/|$)/
/** True for what is built: from there the package's own names lead to the files that run. */
const isBuilt = import.meta.url.includes('/dist/')

let isShared = false

/**
 * Has plugins get `tapgate/plugin` from the gateway that loads them, wherever npm has put another one, or none: a gateway that was
 * installed globally is not beside the plugins of a project, and the classes of another copy are others.
 */
export function shareOwnModules(): void {
  if (isShared || !isBuilt) return
  isShared = true
  registerHooks({
    resolve: (specifier, context, next) =>
      OWN.test(specifier)
        ? next(specifier, { ...context, parentURL: import.meta.url })
        : next(specifier, context),
  })
}
