import {
  pick,
  insert,
  escaped,
  variant,
  secretOf,
  nameValue,
  headerOf,
  base64,
  object,
  RPC_WAYS,
  INVALID,
  MISMATCH,
  type Kind,
} from './draft.ts'

/** Names that stand twice, look like others, or differ between header and body. */
export const NAMES: Readonly<Record<string, Kind>> = {
  'as it should be': { passes: 1, change: () => undefined },
  'a member of the envelope twice': {
    ways: RPC_WAYS,
    passes: undefined,
    change: draft => {
      const { random } = draft
      const [name, value] = pick(
        [
          ['jsonrpc', '"2.0"'],
          ['id', '7'],
          ['method', '"ping"'],
          ['params', `{"name":${secretOf(draft)},"arguments":{"mark":"${draft.mark}"}}`],
        ] as const,
        random,
      )
      draft.envelope = insert(draft.envelope, [random() < 0.5 ? name : escaped(name, random), value], random)
    },
  },
  'a parameter twice': {
    passes: undefined,
    change: draft => {
      const { random } = draft
      const name = random() < 0.7 ? 'name' : 'arguments'
      const value = name === 'name' ? secretOf(draft) : `{"mark":"${draft.mark}","other":1}`
      draft.params = insert(draft.params, [random() < 0.5 ? name : escaped(name, random), value], random)
    },
  },
  'a name twice deep in the arguments': {
    passes: undefined,
    change: draft => {
      const { random } = draft
      const depth = Math.floor(random() * 20)
      const second = random() < 0.5 ? 'path' : escaped('path', random)
      const inner = `{"path":"/a","${second}":"/b"}`
      const deep = Array.from({ length: depth }).reduce<string>(
        text => (random() < 0.5 ? `[0,${text}]` : `{"in":${text}}`),
        inner,
      )
      draft.params = draft.params.map(member =>
        member[0] === 'arguments' ? ['arguments', `{"mark":"${draft.mark}","deep":${deep}}`] : member,
      )
    },
  },
  'a member of the envelope in other letters, beside it': {
    ways: RPC_WAYS,
    passes: undefined,
    change: draft => {
      const { random } = draft
      const [name, value] = pick(
        [
          ['method', '"prompts/get"'],
          ['params', `{"name":${secretOf(draft)}}`],
          ['id', '99'],
          ['jsonrpc', '"1.0"'],
        ] as const,
        random,
      )
      draft.envelope = insert(draft.envelope, [variant(name, random), value], random)
    },
  },
  'a member of the envelope in other letters, alone': {
    ways: RPC_WAYS,
    passes: 0,
    change: draft => {
      const which = pick(['jsonrpc', 'method'], draft.random)
      draft.envelope = draft.envelope.map(([name, value]) => [
        name === which ? variant(name, draft.random) : name,
        value,
      ])
    },
  },
  'a parameter in other letters, beside it': {
    passes: 0,
    code: INVALID,
    change: draft => {
      const { random } = draft
      const name = random() < 0.6 ? 'name' : pick(['arguments', 'uri', 'taskId'], random)
      const value = name === 'arguments' ? `{"mark":"${draft.mark}","other":1}` : secretOf(draft)
      draft.params = insert(draft.params, [variant(name, random), value], random)
    },
  },
  'a parameter in other letters, alone': {
    passes: 0,
    code: INVALID,
    change: draft => {
      const which = pick(['name', 'arguments'], draft.random)
      draft.params = draft.params.map(([name, value]) => [
        name === which ? variant(name, draft.random) : name,
        value,
      ])
    },
  },
  'a reference that names two prompts': {
    ways: RPC_WAYS,
    passes: 0,
    change: draft => {
      const { random } = draft
      const ref = insert(
        [
          ['type', '"ref/prompt"'],
          ['name', '"web__open"'],
        ],
        [variant(pick(['name', 'uri', 'type'], random), random), '"web__secret"'],
        random,
      )
      const meta = draft.params.filter(([name]) => name === '_meta')
      draft.envelope = draft.envelope.map(([name, value]) => [
        name,
        name === 'method' ? '"completion/complete"' : value,
      ])
      draft.params = [['ref', object(ref)], ['argument', `{"name":"a","value":"${draft.mark}"}`], ...meta]
      if (draft.way === 'modern')
        draft.headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'completion/complete' }
    },
  },
  'a tool by a name that looks like it': {
    passes: 0,
    change: draft => {
      const { random } = draft
      const name = pick(
        [
          'web__\u017fecret',
          'web__Secret',
          'WEB__secret',
          'web__secret ',
          ' web__secret',
          'web__secret\\u0000',
          'web__\u0455ecret',
          'web__\\u0073ecret',
          'web__secret',
          'old__\\u0073ecret',
          'web\\u005f\\u005fsecret',
          'secret',
          'open',
        ],
        random,
      )
      nameValue(draft, () => name)
      if (draft.way === 'modern') headerOf(draft, 'mcp-name', base64(JSON.parse(`"${name}"`) as string))
    },
  },
  'a header that contradicts the body': {
    ways: ['modern'],
    passes: 0,
    code: MISMATCH,
    change: draft => {
      const { random } = draft
      const name = String(draft.headers['mcp-name'])
      const [header, value] = pick(
        [
          ['mcp-method', 'tools/list'],
          ['mcp-method', 'Tools/Call'],
          ['mcp-method', 'tool\u00df/call'],
          ['mcp-method', base64('tools/call')],
          ['mcp-method', ''],
          ['mcp-method', undefined],
          ['mcp-name', 'web__secret'],
          ['mcp-name', name.toUpperCase()],
          ['mcp-name', base64('web__secret')],
          ['mcp-name', base64(name).toUpperCase()],
          ['mcp-name', base64(name).slice(0, -3) + '?='],
          ['mcp-name', `=?base64?${Buffer.from(name).toString('hex')}?=`],
          ['mcp-name', `=?BASE64?${Buffer.from(name).toString('base64')}?=`],
          ['mcp-name', base64(base64(name))],
          ['mcp-name', `${base64(name)}, web__secret`],
          ['mcp-name', ''],
          ['mcp-name', undefined],
          ['mcp-protocol-version', '2025-11-25'],
          ['mcp-protocol-version', '2026-07-28, 2025-11-25'],
        ] as const,
        random,
      )
      headerOf(draft, header, value)
    },
  },
  'a header that stands twice': {
    ways: ['modern', 'legacy'],
    passes: 0,
    code: INVALID,
    change: draft => {
      const header = pick(['mcp-method', 'mcp-name', 'mcp-protocol-version'], draft.random)
      const value = String(draft.headers[header] ?? 'tools/call')
      const other = pick([value, 'web__secret', 'tools/list'], draft.random)
      headerOf(draft, header, draft.random() < 0.5 ? [value, other] : [other, value])
    },
  },
  'a header in another form that says the same': {
    ways: ['modern'],
    passes: 1,
    change: draft => {
      const name = String(draft.headers['mcp-name'])
      headerOf(draft, 'mcp-name', pick([base64(name), `  ${name}`, `${base64(name)} \t`], draft.random))
    },
  },
  'headers of the new era on a request of the old': {
    ways: ['legacy'],
    passes: undefined,
    change: draft => {
      headerOf(draft, 'mcp-method', 'tools/list')
      headerOf(draft, 'mcp-name', 'web__secret')
    },
  },
}
