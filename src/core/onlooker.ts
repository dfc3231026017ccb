import { MODERN_VERSION } from '../protocol/versions.ts'
import type { Session } from '../api/index.ts'
import { ANONYMOUS } from '../api/principal.ts'
import { PipelineSession } from './session.ts'

/** A session of nobody in particular, for those inside the gateway who want to see what everybody may see. */
export function onlooker(info: Session['client']['info']): Session {
  return new PipelineSession({
    id: 'inspect',
    listener: 'in-process',
    principal: ANONYMOUS,
    client: { info, capabilities: {}, version: MODERN_VERSION, era: 'modern', logLevel: undefined },
    notify: () => false,
  })
}
