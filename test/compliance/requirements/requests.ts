import type { Requirement } from '../requirements.ts'

const BOTH = '2025-11-25, 2026-07-28'

/** All that a client asks and a server answers. */
export const REQUESTS: Readonly<Record<string, Requirement>> = {
  'session.version': {
    source: `${BOTH} basic/versioning`,
    behaviour: 'both sides settle on a version of their era',
  },
  'session.identity': {
    source: `${BOTH} basic/lifecycle, server/discover`,
    behaviour: 'the server says its name and version',
  },
  'session.capabilities': {
    source: `${BOTH} basic/lifecycle, server/discover`,
    behaviour: 'tools, prompts, resources and completions are declared',
  },
  'session.instructions': {
    source: `${BOTH} basic/lifecycle, server/discover`,
    behaviour: 'the instructions of the server arrive',
    needs: 'instructions',
  },
  'session.ping': {
    source: '2025-11-25 basic/utilities/ping',
    behaviour: 'a ping is answered',
    client: 'legacy',
    why: 'ping left the protocol with 2026-07-28',
  },
  'session.reconnect': { source: `${BOTH} basic/transports`, behaviour: 'a second client may come and go' },
  'errors.method': { source: `${BOTH} basic`, behaviour: 'an unknown method is refused with -32601' },
  'errors.tool': {
    source: `${BOTH} server/tools#error-handling`,
    behaviour: 'an unknown tool is refused with -32602',
  },
  'errors.prompt': {
    source: `${BOTH} server/prompts#error-handling`,
    behaviour: 'an unknown prompt is refused with -32602',
  },
  'errors.resource': {
    source: `${BOTH} server/resources#error-handling`,
    behaviour: 'an unknown resource is refused with -32602, to legacy clients also -32002',
  },
  'errors.arguments': {
    source: `${BOTH} server/tools#error-handling`,
    behaviour: 'wrong arguments of a tool are named as such',
  },
  'lists.tools': {
    source: `${BOTH} server/tools#listing-tools`,
    behaviour: 'tools are listed once each, with object schemas',
  },
  'lists.prompts': {
    source: `${BOTH} server/prompts#listing-prompts`,
    behaviour: 'prompts are listed with their arguments',
  },
  'lists.resources': {
    source: `${BOTH} server/resources#listing-resources`,
    behaviour: 'resources are listed by their URIs',
  },
  'lists.templates': {
    source: `${BOTH} server/resources#resource-templates`,
    behaviour: 'resource templates are listed',
  },
  'lists.order': {
    source: '2026-07-28 server/tools',
    behaviour: 'a list that did not change has the same order',
  },
  'lists.pages': {
    source: `${BOTH} server/utilities/pagination`,
    behaviour: 'following the cursors gives every entry once',
    needs: 'pages',
  },
  'lists.bad-cursor': {
    source: `${BOTH} server/utilities/pagination`,
    behaviour: 'a cursor that nobody gave is refused with -32602',
    route: 'gateway',
    why: 'the tools of the servers have one page',
  },
  'lists.metadata': {
    source: `${BOTH} server/tools#data-types`,
    behaviour: 'title, annotations and _meta of a tool arrive',
    needs: 'vendor',
  },
  'lists.schema': {
    source: '2026-07-28 server/tools#schema',
    behaviour: 'the JSON Schema 2020-12 vocabulary of an input schema arrives verbatim',
    needs: 'schema',
  },
  'lists.caching': {
    source: '2026-07-28 server/utilities/caching',
    behaviour: 'lists say how long and for whom they may be kept',
    client: 'modern',
    why: 'caching fields are of 2026-07-28',
  },
  'lists.legacy-form': {
    source: '2025-11-25 schema',
    behaviour: 'lists carry no field of 2026-07-28',
    client: 'legacy',
    why: 'the fields belong to the modern era',
  },
  'tools.text': { source: `${BOTH} server/tools#tool-result`, behaviour: 'text content arrives' },
  'tools.image': {
    source: `${BOTH} server/tools#tool-result`,
    behaviour: 'image content arrives',
    needs: 'image',
  },
  'tools.audio': {
    source: `${BOTH} server/tools#tool-result`,
    behaviour: 'audio content arrives',
    needs: 'audio',
  },
  'tools.embedded': {
    source: `${BOTH} server/tools#tool-result`,
    behaviour: 'an embedded resource arrives',
    needs: 'embedded',
  },
  'tools.mixed': {
    source: `${BOTH} server/tools#tool-result`,
    behaviour: 'content of several types arrives',
    needs: 'mixed',
  },
  'tools.link': {
    source: `${BOTH} server/tools#tool-result`,
    behaviour: 'a resource link arrives',
    needs: 'link',
  },
  'tools.structured': {
    source: `${BOTH} server/tools#structured-content`,
    behaviour: 'structured content arrives with its output schema',
    needs: 'structured',
  },
  'tools.failure': {
    source: `${BOTH} server/tools#error-handling`,
    behaviour: 'a failing tool is a result with isError',
    needs: 'failing',
  },
  'tools.large': {
    source: `${BOTH} basic/transports`,
    behaviour: 'an argument and an answer of 400 kB arrive whole',
  },
  'tools.parallel': {
    source: `${BOTH} basic#requests`,
    behaviour: '60 calls at a time each get their own answer',
  },
  'tools.unknown-fields': {
    source: `${BOTH} basic#general-fields`,
    behaviour: 'fields and _meta that nobody specified arrive',
    needs: 'vendor',
  },
  'tools.request-meta': {
    source: `${BOTH} basic#general-fields`,
    behaviour: '_meta and trace context of a request reach the server',
    needs: 'meta',
  },
  'tools.mirrored-header': {
    source: '2026-07-28 basic/transports/streamable-http#custom-headers',
    behaviour: 'a tool that wants arguments in headers can be called',
    needs: 'headers',
  },
  'prompts.simple': { source: `${BOTH} server/prompts`, behaviour: 'a prompt without arguments is got' },
  'prompts.arguments': { source: `${BOTH} server/prompts`, behaviour: 'a prompt gets its arguments' },
  'prompts.missing-argument': {
    source: `${BOTH} server/prompts`,
    behaviour: 'a missing argument is refused',
  },
  'prompts.embedded': {
    source: `${BOTH} server/prompts`,
    behaviour: 'a prompt embeds a resource',
    needs: 'promptEmbedded',
  },
  'prompts.image': {
    source: `${BOTH} server/prompts`,
    behaviour: 'a prompt has an image',
    needs: 'promptImage',
  },
  'resources.text': { source: `${BOTH} server/resources`, behaviour: 'a text resource is read' },
  'resources.binary': { source: `${BOTH} server/resources`, behaviour: 'a binary resource is read' },
  'resources.template': { source: `${BOTH} server/resources`, behaviour: 'a resource of a template is read' },
  'completion.prompt': {
    source: `${BOTH} server/utilities/completion`,
    behaviour: 'an argument of a prompt is completed',
  },
  'completion.context': {
    source: `${BOTH} server/utilities/completion`,
    behaviour: 'arguments given already decide what is proposed',
    needs: 'completionContext',
  },
  'completion.template': {
    source: `${BOTH} server/utilities/completion`,
    behaviour: 'a variable of a template is completed',
  },
}
