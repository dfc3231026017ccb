import {
  pick,
  insert,
  escaped,
  secretOf,
  nameValue,
  headerOf,
  call,
  object,
  RPC_WAYS,
  LEGACY_WAYS,
  INVALID,
  PARSE,
  type Kind,
} from './draft.ts'

/** Forms that JSON allows and some readers take otherwise, and forms that it does not allow. */
export const FORMS: Readonly<Record<string, Kind>> = {
  'parameters that are no object': {
    passes: 0,
    change: draft => {
      const secret = `{"name":${secretOf(draft)},"arguments":{"mark":"${draft.mark}"}}`
      const other = pick([`[${secret}]`, '[]', JSON.stringify(secret), '7', 'true', 'null'], draft.random)
      draft.write = body => body.replace(object(draft.params), () => other)
    },
  },
  'arguments that are no object': {
    passes: undefined,
    change: draft => {
      const other = pick([`["${draft.mark}"]`, `"${draft.mark}"`, 'null'], draft.random)
      draft.params = draft.params.map(member => (member[0] === 'arguments' ? ['arguments', other] : member))
    },
  },
  'a batch in the modern era': {
    ways: ['modern', 'socket'],
    passes: 0,
    code: INVALID,
    change: draft => {
      const { random } = draft
      draft.write = body => {
        const other = call(draft, 'web__secret', draft.mark)
        return random() < 0.5 ? `[${body}]` : ` [${other},${body}]`
      }
    },
  },
  'a batch in the legacy era': {
    ways: LEGACY_WAYS,
    passes: 3,
    change: draft => {
      const marks = [`${draft.mark}a-`, `${draft.mark}b-`, `${draft.mark}c-`, `${draft.mark}d-`] as const
      draft.write = () =>
        `[${[
          call(draft, 'web__open', marks[0]),
          call(draft, 'web__secret', marks[1]),
          call(draft, 'old__raw', marks[2]),
          call(draft, 'web__open', marks[3], ',"x":1,"\\u0078":2'),
        ].join(' , ')}]`
      return marks
    },
  },
  'escapes in the names of members': {
    passes: 1,
    change: draft => {
      const { random } = draft
      draft.envelope = draft.envelope.map(([name, value]) => [escaped(name, random), value])
      draft.params = draft.params.map(([name, value]) => [escaped(name, random), value])
    },
  },
  'escapes in values': {
    passes: 1,
    change: draft => {
      const { random } = draft
      nameValue(draft, name => escaped(name, random))
      const method = pick(['tools\\/call', escaped('tools/call', random)], random)
      draft.envelope = draft.envelope.map(([name, value]) => [
        name,
        name === 'method' ? `"${method}"` : value === '"2.0"' ? '"\\u0032.0"' : value,
      ])
    },
  },
  'another method by a name that looks like it': {
    ways: RPC_WAYS,
    passes: 0,
    change: draft => {
      const method = pick(
        ['Tools/Call', 'tool\u017f/call', 'tools/call ', 'tools/call\\u0000', 'tools//call', 'TOOLS/CALL'],
        draft.random,
      )
      draft.envelope = draft.envelope.map(([name, value]) => [
        name,
        name === 'method' ? `"${method}"` : value,
      ])
    },
  },
  'white space between tokens': {
    passes: 1,
    change: draft => {
      const { random, way } = draft
      const signs = way === 'pipe' ? [' ', '\t'] : [' ', '\t', '\r', '\n']
      draft.space = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(signs, random)).join('')
      draft.write = body => draft.space + body + draft.space
    },
  },
  'white space that JSON does not have': {
    passes: 0,
    code: PARSE,
    change: draft => {
      draft.space = pick(['\u00a0', '\f', '\v', '\u2003', '\ufeff', '\0', '\u2028'], draft.random)
    },
  },
  'a byte order mark': {
    passes: undefined,
    change: draft => void (draft.write = body => `\ufeff${body}`),
  },
  'names that objects have by themselves': {
    passes: 1,
    change: draft => {
      const { random } = draft
      const name = pick(['__proto__', 'constructor', 'toString', 'hasOwnProperty'], random)
      const into = random() < 0.5
      if (into && draft.way !== 'rest')
        draft.params = insert(draft.params, [name, `{"name":${secretOf(draft)}}`], random)
      else
        draft.params = draft.params.map(member =>
          member[0] === 'arguments'
            ? ['arguments', `{"${name}":{"mark":"x"},"mark":"${draft.mark}"}`]
            : member,
        )
    },
  },
  'numbers that readers take differently': {
    passes: 1,
    change: draft => {
      const numbers = [
        '9007199254740993',
        '1e400',
        '-0',
        '1.50',
        '0.1000000000000000055',
        '1234567890123456789',
      ]
      const some = Array.from({ length: 4 }, () => pick(numbers, draft.random)).join(' , ')
      draft.params = draft.params.map(member =>
        member[0] === 'arguments' ? ['arguments', `{"n":[${some}],"mark":"${draft.mark}"}`] : member,
      )
    },
  },
  'arguments whose names differ in their letters': {
    passes: 1,
    change: draft => {
      draft.params = draft.params.map(member =>
        member[0] === 'arguments'
          ? ['arguments', `{"path":1,"Path":2,"PATH":3,"\u212aey":4,"key":5,"mark":"${draft.mark}"}`]
          : member,
      )
    },
  },
  'text that is no JSON': {
    passes: 0,
    code: PARSE,
    change: draft => {
      const { random } = draft
      const body = pick(
        [
          (text: string) => `${text}${text}`,
          (text: string) => `${text}]`,
          (text: string) => `/* */${text}`,
          (text: string) => text.replaceAll('"', "'"),
          (text: string) => text.replace(/\}$/, ',}'),
          (text: string) => text.replace('"n":', '"n":0'),
          (text: string) => text.replace('"n":', '"n":+'),
          (text: string) => text.replace('"n":', '"x":NaN,"n":'),
          (text: string) => text.replace('"n":', '"x":"\t","n":'),
          (text: string) => text.replace('"n":', '"x":"\\x41","n":'),
          (text: string) => text.slice(0, -1),
        ],
        random,
      )
      draft.params = draft.params.map(member =>
        member[0] === 'arguments' ? ['arguments', `{"mark":"${draft.mark}","n":3}`] : member,
      )
      draft.write = body
    },
  },
  'an id that cannot be given back': {
    ways: RPC_WAYS,
    passes: 0,
    code: INVALID,
    change: draft => {
      const id = pick(['null', '[1]', '{}', 'true', '9007199254740993.0', '1e400'], draft.random)
      draft.envelope = draft.envelope.map(([name, value]) => [name, name === 'id' ? id : value])
    },
  },
  'another tool in the query or in headers': {
    ways: ['rest'],
    passes: 1,
    change: draft => {
      headerOf(draft, 'mcp-name', 'web__secret')
      headerOf(draft, 'mcp-method', 'tools/list')
      headerOf(draft, 'x-http-method-override', 'GET')
    },
  },
}
